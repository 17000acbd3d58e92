import { describe, describeShape } from "../base/describe.ts";
import { knownOptions } from "../base/options.ts";
import {
  checkWeight,
  elementCount,
  isShape,
  type Tensor,
} from "../tensor/tensor.ts";
import { checkFinite } from "../tensor/weights.ts";
import type { CacheSpec } from "./cache.ts";
import type { CacheRef, ImageSize, Operator, Value } from "./operator.ts";
import { lastAxis, type RowShape, type RowType } from "./row_layout.ts";

/**
 * The operators and values of a cell under construction, and the checks that the operators of every
 * family share. Errors name the cell.
 */
export class CellBody {
  readonly operators: Operator[] = [];
  readonly #values: Value[] = [];
  readonly localCaches: CacheSpec[] = [];
  readonly #caches = new Set<CacheRef>();
  /** Cache ports that operators append to. */
  readonly appended = new Set<number>();

  /** @param tokensMax most tokens of a node, if the cell is ragged */
  constructor(readonly cell: string, readonly tokensMax?: number) {}

  /** A new value; used for input ports and by the operators themselves. */
  declare(
    dtype: RowType,
    width: number,
    { shape, image }: Pick<RowShape, "shape" | "image"> = {},
  ): Value {
    if (!Number.isInteger(width) || width < 1) {
      throw new RangeError(
        `Cell "${this.cell}": a row's width is a positive integer, got ${
          describe(width)
        }`,
      );
    }
    const id = this.#values.length;
    const value = {
      id,
      dtype,
      width,
      ...(shape && { shape }),
      ...(image && { image }),
    };
    this.#values.push(value);
    return value;
  }

  /** A new value of the axes given. */
  shaped(dtype: RowType, shape: readonly number[]): Value {
    return this.declare(dtype, elementCount(shape), { shape });
  }

  /**
   * A new value like `x` but for its type and last axis: what an operator makes of every row of `x`.
   * @param last default: that of `x`
   */
  alongside(x: Value, dtype: RowType = "f32", last = lastAxis(x)): Value {
    return x.shape && x.shape.length > 0
      ? this.shaped(dtype, [...x.shape.slice(0, -1), last])
      : this.declare(dtype, last);
  }

  /** A new image. */
  image({ height, width, channels }: ImageSize): Value {
    const image = { height, width, channels };
    return this.declare("f32", height * width * channels, { image });
  }

  /** @throws TypeError when a value is not one of this cell's */
  own(what: string, value: Value): void {
    if (this.#values[value?.id] !== value) {
      throw new TypeError(
        `Cell "${this.cell}": ${what} is not a value of this cell`,
      );
    }
  }

  /** A cache of the node's own tokens. */
  localCache(keyWidth: number, valueWidth: number): CacheRef {
    const { tokensMax } = this;
    this.expect(
      tokensMax !== undefined,
      "a node attends to its own tokens in a ragged cell; give the cell tokensMax, or a cache",
    );
    const spec = { keyWidth, valueWidth, positionsMax: tokensMax! };
    const index = this.localCaches.push(spec) - 1;
    return this.addCache({ kind: "local", index, ...spec });
  }

  /** Makes a cache one of this cell's. */
  addCache(cache: CacheRef): CacheRef {
    this.#caches.add(cache);
    return cache;
  }

  /** @throws TypeError when a cache is not one of this cell's */
  ownCache(what: string, cache: CacheRef): void {
    if (!this.#caches.has(cache)) {
      throw new TypeError(
        `Cell "${this.cell}": the cache of ${what} is not one of this cell`,
      );
    }
  }

  appendsTo({ kind, index }: CacheRef): void {
    if (kind === "port") this.appended.add(index);
  }

  /** Appends an operator. @returns its first output */
  emit(operator: Operator): Value {
    this.operators.push(operator);
    return operator.outputs[0];
  }

  /** @throws unless the values are f32 rows of this cell */
  float(what: string, ...values: Value[]): void {
    for (const value of values) {
      this.own(`an input of ${what}`, value);
      this.expect(
        value.dtype === "f32",
        `${what} takes f32 rows, got ${value.dtype}`,
      );
    }
  }

  /** @throws unless the values are rows of this cell, all f32 or all i32 */
  words(what: string, ...values: Value[]): void {
    for (const value of values) {
      this.own(`an input of ${what}`, value);
      this.expect(
        (value.dtype === "f32" || value.dtype === "i32") &&
          value.dtype === values[0].dtype,
        `${what} takes rows of f32 or of i32, got ${
          values.map(({ dtype }) => dtype).join(", ")
        }`,
      );
    }
  }

  /** @throws TypeError or RangeError unless a weight is floats, as many as its shape says */
  weight(what: string, given: Tensor): void {
    checkWeight(`Cell "${this.cell}": ${what}`, given);
  }

  /** @throws TypeError or RangeError unless a weight is one, has the shape and is finite */
  shape(what: string, given: Tensor, expected: readonly number[]): void {
    this.weight(what, given);
    this.expect(
      isShape(given.shape, expected),
      `${what} has shape ${describeShape(given.shape)}, expected ${
        describeShape(expected)
      }`,
    );
    this.finite(what, given);
  }

  /** @throws TypeError on an attribute or a weight that an operator does not have */
  known(op: string, given: object, names: readonly string[]): void {
    knownOptions(`Cell "${this.cell}": ${op}`, given, names, "attribute");
  }

  finite(what: string, given: Tensor): void {
    checkFinite(`${this.cell}: ${what}`, given);
  }

  /** @throws RangeError unless a size is a positive integer */
  count(what: string, size: number): void {
    this.expect(
      Number.isInteger(size) && size >= 1,
      `${what} is a positive integer, got ${describe(size)}`,
    );
  }

  expect(condition: boolean, message: string): void {
    if (!condition) throw new RangeError(`Cell "${this.cell}": ${message}`);
  }
}
