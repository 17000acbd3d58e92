/** Mean, 99th percentile and longest of a side's lengths, in tokens. */
export interface LengthFacts {
  readonly mean: number;
  readonly p99: number;
  readonly max: number;
}

/** Lengths of the sentence pairs of a real corpus: counts only, no text. */
export interface Corpus {
  readonly name: string;
  /** Where the lengths come from. */
  readonly origin: string;
  readonly licence: string;
  readonly pairs: number;
  /** The side that is English; models of one sentence take it. */
  readonly english: "source" | "target";
  readonly source: LengthFacts;
  readonly target: LengthFacts;
  /** Text form of a JointHistogram over (source tokens, target tokens). */
  readonly counts: string;
}

/** Lengths of the inputs of a task for models of one text: counts only, no text. */
export interface TaskLengths {
  readonly name: string;
  /** Where the lengths come from. */
  readonly origin: string;
  readonly licence: string;
  readonly examples: number;
  readonly tokens: LengthFacts;
  /** Text form of a Histogram over tokens. */
  readonly counts: string;
}
