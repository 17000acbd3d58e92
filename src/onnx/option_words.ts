/**
 * How whoever loads a file gives what it leaves open: programs as options of `loadOnnx`, others in words of their own.
 */

/** What is written to give an option. */
export interface OptionWords {
  /** The size of an axis. */
  sizes(axis: string): string;
  /** The most of an axis that stays free. */
  sizesMax(axis: string): string;
  /** Sizes of all axes of an input. */
  shapes(input: string): string;
  /** A constant, where no input has its name. @param inputs those that there are */
  constants(inputs: readonly string[]): string;
  /** Which input of a decoder's step is the token's id, or which output its scores are. */
  named(option: "token" | "logits"): string;
  /** Which output a state of a decoder comes out as. */
  states(): string;
  /** Most positions of a decoder. */
  positionsMax(most?: number): string;
}

/** A text that names options. */
export type Worded = (words: OptionWords) => string;

/** Of `loadOnnx`. */
export const PROGRAM_WORDS: OptionWords = {
  sizes: (axis) => `sizes: { ${JSON.stringify(axis)}: ... }`,
  sizesMax: (axis) => `sizesMax: { ${JSON.stringify(axis)}: ... }`,
  shapes: (input) => `shapes: { ${JSON.stringify(input)}: [...] }`,
  constants: () => "a tensor",
  named: (option) => `decoder: { ${option}: "..." }`,
  states: () => "decoder: { states: { input: output } }",
  positionsMax: (most) => `decoder: { positionsMax: ${most ?? "..."} }`,
};
