/**
 * Requests to a model of the Open Inference Protocol, made from its own metadata: integers where it takes tokens,
 * texts where it takes bytes, numbers in [0, 1) elsewhere.
 */
import { describe } from "../base/describe.ts";
import type { Prng } from "../base/prng.ts";
import type { Text } from "./texts.ts";

/** An input as `GET /v2/models/M` tells it. */
export interface TensorMetadata {
  readonly name: string;
  readonly datatype: string;
  /** -1 for a free dimension. */
  readonly shape: readonly number[];
}

/** Elements of one tensor, beyond any model that is served. */
const ELEMENTS_MAX = 2 ** 26;

/** Tokens are drawn below this: every vocabulary has as many. */
const TOKENS_BELOW = 1000;

/** The inputs in a model's metadata. @throws SyntaxError saying what is not as the protocol has it */
export function metadataInputs(json: string): TensorMetadata[] {
  const { inputs } = JSON.parse(json) as { inputs?: unknown };
  if (!Array.isArray(inputs) || inputs.length === 0) {
    throw new SyntaxError("the model's metadata has no inputs");
  }
  for (const { name, datatype, shape } of inputs as TensorMetadata[]) {
    if (
      typeof name !== "string" || typeof datatype !== "string" ||
      !Array.isArray(shape) || !shape.every(Number.isInteger)
    ) {
      throw new SyntaxError(
        `an input of the model's metadata is ${
          describe(JSON.stringify({ name, datatype, shape }))
        }`,
      );
    }
  }
  return inputs as TensorMetadata[];
}

/**
 * A request's body. Of a shape's free dimensions the first is the batch, one, where there is more than one or the
 * input is text; the others are as long as the text.
 * @throws RangeError on a tensor beyond all measure, or of a type that JSON cannot hold
 */
export function oipBody(
  inputs: readonly TensorMetadata[],
  text: Text,
  prng: Prng,
): { readonly inputs: readonly unknown[] } {
  return {
    inputs: inputs.map(({ name, datatype, shape }) => {
      const dims = filled(shape, datatype === "BYTES" ? 1 : text.tokens);
      const count = dims.reduce((product, dim) => product * dim, 1);
      if (count > ELEMENTS_MAX) {
        throw new RangeError(
          `input ${describe(name)} would have ${count} elements`,
        );
      }
      const draw = elementOf(name, datatype, text, prng);
      return {
        ...{ name, datatype, shape: dims },
        data: Array.from({ length: count }, draw),
      };
    }),
  };
}

function filled(shape: readonly number[], length: number): number[] {
  const isBatch = shape[0] === -1 &&
    (shape.length > 1 || length === 1);
  return shape.map((dim, i) =>
    dim >= 0 ? dim : i === 0 && isBatch ? 1 : length
  );
}

/** What an element is drawn as. Masks let everything count, types say that there is one sentence. */
function elementOf(
  name: string,
  datatype: string,
  { text }: Text,
  prng: Prng,
): () => number | string | boolean {
  if (datatype === "BYTES") return () => text;
  if (datatype === "BOOL") return () => true;
  if (/^U?INT\d+$/.test(datatype)) {
    if (/mask/i.test(name)) return () => 1;
    if (/type/i.test(name)) return () => 0;
    const below = datatype.endsWith("INT8") ? 100 : TOKENS_BELOW;
    return () => prng.int(below);
  }
  if (datatype === "FP32" || datatype === "FP64") return () => prng.float();
  throw new RangeError(
    `input ${
      describe(name)
    } is of ${datatype}, which has no form in JSON; give a --body`,
  );
}
