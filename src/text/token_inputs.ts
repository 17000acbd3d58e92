/** Encoded texts as inputs of a model, by the names that exporters give them. */
import { describe, listed } from "../base/describe.ts";
import type { Model } from "../graph/model.ts";
import type { Dtype } from "../tensor/tensor.ts";
import { TextFileError } from "./errors.ts";
import type { EncodedText } from "./tokenizer.ts";

/** An input or output of a model that was read from a file, such as `OnnxCellModel.inputs` has. */
export interface TensorOfModel {
  /** As in the file. */
  readonly name: string;
  /** Type of its elements. */
  readonly dtype: Dtype;
  /** Sizes of its axes; of a free one the most. */
  readonly shape: readonly number[];
  /** The axis of which a request has as much as it likes, up to that. */
  readonly free?: { readonly axis: number };
}

/** A model whose requests are tokens: of a file (`loadOnnx`), or one that takes `{ tokens }`. */
export interface TokenModel extends Model {
  /** What a request brings; absent: `{ tokens }`. */
  readonly inputs?: readonly TensorOfModel[];
  /** What comes out. */
  readonly results?: readonly TensorOfModel[];
  /** Of a decoder: most positions of a request, prompt and answer. */
  readonly positionsMax?: number;
  /** Of a decoder: ids that end a request; absent: those that its cells stop at. */
  readonly stop?: readonly number[];
}

type Role = "ids" | "mask" | "types" | "positions";

const ROLES: Readonly<Record<string, Role>> = {
  input_ids: "ids",
  tokens: "ids",
  attention_mask: "mask",
  input_mask: "mask",
  token_type_ids: "types",
  segment_ids: "types",
  position_ids: "positions",
};

/** What a text comes to for its model. */
export interface TextInput {
  /** A request's input. */
  readonly input: unknown;
  /** Tokens of it, without what fills up a fixed length. */
  readonly rows: number;
}

/** How a model takes texts. */
export class TokenInputs {
  readonly #model: TokenModel;
  readonly #specs: readonly (TensorOfModel & { readonly role: Role })[];
  readonly #takesSegments: boolean;
  /** Tokens of every request, where the model takes no other number. */
  readonly #fixed: number | undefined;
  /** Most tokens of a request; Infinity where the model does not say. */
  readonly tokensMax: number;

  /** @throws TextFileError on an input that is not known */
  constructor(model: TokenModel) {
    this.#model = model;
    // Those of a decoder are what its steps take besides tokens.
    const inputs = model.grow ? [] : model.inputs ?? [];
    this.#specs = inputs.map((spec) => {
      const role = ROLES[spec.name];
      if (role !== undefined) return { ...spec, role };
      throw new TextFileError(
        `Input ${
          describe(spec.name)
        } of "${model.name}" is none of texts, which are ${
          listed(Object.keys(ROLES))
        }`,
      );
    });
    const ids = this.#specs.find(({ role }) => role === "ids");
    if (inputs.length > 0 && ids === undefined) {
      throw new TextFileError(`Model "${model.name}" takes no ids of tokens`);
    }
    const count = ids?.shape.reduce((product, size) => product * size, 1);
    this.#fixed = ids?.free ? undefined : count;
    this.tokensMax = count ?? model.positionsMax ?? model.tokensMax ??
      Infinity;
    this.#takesSegments = this.#specs.length === 0 && !model.grow &&
      accepts(model, { tokens: [0], segments: [0] });
  }

  /**
   * @param padId fills up a fixed length, where nothing looks at it
   * @throws RangeError on a text of no tokens, of which there is no mean and no first one
   */
  of({ ids, typeIds }: EncodedText, padId: number): TextInput {
    const rows = ids.length;
    if (rows === 0) {
      throw new RangeError(
        `A text has no tokens: "${this.#model.name}" takes one at least`,
      );
    }
    if (this.#specs.length === 0) {
      const input = this.#takesSegments
        ? { tokens: ids, segments: typeIds }
        : { tokens: ids };
      return { input, rows };
    }
    const length = this.#fixed ?? rows;
    const input: Record<string, unknown> = {};
    for (const { name, dtype, role } of this.#specs) {
      const numbers = Array.from({ length }, (_, i) => {
        if (role === "positions") return i;
        if (i >= rows) return role === "ids" ? padId : 0;
        return role === "ids" ? ids[i] : role === "types" ? typeIds[i] : 1;
      });
      input[name] = elementsOf(dtype, numbers);
    }
    if (length > rows && !this.#specs.some(({ role }) => role === "mask")) {
      throw new TextFileError(
        `Model "${this.#model.name}" takes ${length} tokens and no attention mask, so that no text of ${rows} fits`,
      );
    }
    return { input, rows };
  }
}

/** Whether a model takes such an input. */
export function accepts(model: Model, input: unknown): boolean {
  const check: (input: unknown) => void = model.check;
  try {
    check.call(model, input);
    return true;
  } catch {
    return false;
  }
}

function elementsOf(dtype: Dtype, numbers: readonly number[]) {
  if (dtype === "i64") return BigInt64Array.from(numbers, BigInt);
  return dtype === "f32"
    ? Float32Array.from(numbers)
    : dtype === "bool" || dtype === "u8"
    ? Uint8Array.from(numbers)
    : Int32Array.from(numbers);
}
