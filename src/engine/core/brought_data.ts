/**
 * What requests bring into graphs that were used before, checked against what their model unfolds. A graph has been
 * planned for its first request: data of another size would be written over others', and what is missing would be
 * another request's.
 */
import { describe, shorten } from "../../base/describe.ts";
import type { CellGraph } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import type { TensorData } from "../../tensor/tensor.ts";
import { lengthOf, typeOf } from "../../tensor/typed_array.ts";

/** Data of a graph. */
interface Kind {
  /** Name of the array's type. */
  readonly type: string | undefined;
  readonly length: number;
  /** Brought by every request; otherwise the same for all. */
  readonly isBrought: boolean;
}

/** The data of a model's graphs, in the order of their inputs. */
export class BroughtData {
  readonly #kinds: readonly Kind[];
  readonly #nodes: number;

  /**
   * @param graph what the model has unfolded for a request with this input
   * @throws TypeError unless the model says that it brings just what it has unfolded
   */
  constructor(
    model: Model,
    input: unknown,
    { inputs, nodes, closed }: CellGraph,
  ) {
    if (!closed) fail(model, `is given, but its requests grow`);
    const brought = listOf(model, input, inputs.length);
    this.#kinds = inputs.map(({ data }, i) => {
      const given = brought[i];
      const kind = { type: typeOf(data), length: lengthOf(data) };
      if (given === undefined) return { ...kind, isBrought: false };
      checkKind(model, i, given, kind);
      if (!isSame(data, given)) {
        fail(
          model,
          `gave other numbers as data ${i} than "unfold" brought: they are in the order of its calls`,
        );
      }
      return { ...kind, isBrought: true };
    });
    this.#nodes = nodes.length;
  }

  /**
   * Whether a request is refused must not hang on whether there was a used graph for it.
   * @param graph what the model has unfolded for another request, with this input
   * @throws TypeError unless it has the same nodes and data, and the request brings as many
   */
  checkAlike(model: Model, input: unknown, { inputs, nodes }: CellGraph): void {
    const isAlike = nodes.length === this.#nodes &&
      inputs.length === this.#kinds.length &&
      inputs.every(({ data }, i) => {
        const { type, length } = this.#kinds[i];
        return typeOf(data) === type && lengthOf(data) === length;
      });
    if (!isAlike) {
      fail(
        model,
        `is given, but "unfold" made other nodes or brought other data than for the request before`,
      );
    }
    this.of(model, input);
  }

  /**
   * What a request brings, in the order of the inputs of a graph of its model; undefined: what the graph has.
   * @throws TypeError when it is not of the types and lengths that the graph has been planned for
   */
  of(model: Model, input: unknown): readonly (TensorData | undefined)[] {
    const kinds = this.#kinds;
    const brought = listOf(model, input, kinds.length);
    for (let i = 0; i < kinds.length; i++) {
      const given = brought[i];
      if (kinds[i].isBrought) checkKind(model, i, given, kinds[i]);
      else if (given !== undefined) {
        fail(model, `gave data ${i}, which other requests leave as they are`);
      }
    }
    return brought;
  }

  /** What the request brought that a graph was unfolded for is no longer needed: it is in its slot. */
  forget({ inputs }: CellGraph): void {
    const kinds = this.#kinds;
    for (let i = 0; i < kinds.length; i++) {
      if (kinds[i].isBrought) inputs[i].forget();
    }
  }
}

/** Copied, so that it is what has been checked. */
function listOf(
  model: Model,
  input: unknown,
  count: number,
): readonly (TensorData | undefined)[] {
  const brought: unknown = model.brings!(input);
  // Whatever becomes of it is nobody's business any more.
  if (brought instanceof Promise) brought.catch(() => {});
  if (Array.isArray(brought) && brought.length === count) return [...brought];
  return fail(
    model,
    `is a list of the ${count} data that "unfold" brings, got ${
      describe(brought)
    }`,
  );
}

function checkKind(
  model: Model,
  index: number,
  given: TensorData | undefined,
  { type, length }: Pick<Kind, "type" | "length">,
): void {
  if (
    given !== undefined && type === typeOf(given) && lengthOf(given) === length
  ) return;
  fail(
    model,
    `gave data ${index} of another type or length than "unfold" brought: ${
      describe(given)
    }`,
  );
}

function fail(model: Model, what: string): never {
  throw new TypeError(`"brings" of model "${shorten(model.name)}" ${what}`);
}

/** Whether two arrays of one type and length have the same bits. */
function isSame(a: TensorData, b: TensorData): boolean {
  const [x, y] = [bytesOf(a), bytesOf(b)];
  return x.every((byte, i) => byte === y[i]);
}

function bytesOf({ buffer, byteOffset, byteLength }: TensorData): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
