/**
 * A value of the ONNX graph while its nodes become operators of a cell. It lies in one of two ways, or both: as a row
 * in ONNX's order, or as an image, channels last, which is what convolutions take. Conversions are made where somebody
 * asks for the other way, once: at the borders, since what works element by element takes it as it lies.
 */
import type { Operators } from "../../graph/cell_builder.ts";
import type { ImageSize, Value } from "../../graph/operator.ts";
import { axesOf } from "../../graph/row_layout.ts";
import type { KnownValue } from "../known_value.ts";
import type { PlainTensor, PlainType } from "../../tensor/plain_tensor.ts";
import { elementCount, isShape, tensor } from "../../tensor/tensor.ts";

/**
 * What a value of one image, [1][channels][height][width], of a signal, [1][channels][width], or of channels alone is
 * as an image; undefined where it is none of these.
 */
export function imageSizeOf(dims: readonly number[]): ImageSize | undefined {
  if (dims.length < 2 || dims.length > 4 || dims[0] !== 1) return undefined;
  const [, channels, ...sides] = dims;
  const [height, width] = [1, 1, ...sides].slice(-2);
  return { height, width, channels };
}

/** Sizes of an image's axes as they lie. */
export function axesOfImage({ height, width, channels }: ImageSize): number[] {
  return [height, width, channels];
}

/** Elements of a constant that a lowering makes up: what needs more runs in plain TypeScript. */
export const MADE_ELEMENTS_MAX = 2 ** 22;

export class Operand implements KnownValue {
  readonly type: PlainType;
  readonly dims: readonly number[];
  readonly constant: PlainTensor | undefined;
  #row: Value | undefined;
  #image: Value | undefined;

  /** @param value how it lies; none of a constant, which is placed where it is needed */
  constructor(
    readonly op: Operators,
    { type, dims, constant }: KnownValue,
    value?: Value,
  ) {
    this.type = type;
    this.dims = dims;
    this.constant = constant;
    if (value?.image) this.#image = value;
    else this.#row = value;
  }

  get elements(): number {
    return elementCount(this.dims);
  }

  get rank(): number {
    return this.dims.length;
  }

  /** Whether it can lie in rows: those that all requests share are of floats. */
  get canLie(): boolean {
    return this.constant === undefined || this.type === "float32";
  }

  /** Whether it lies as an image. */
  get isImage(): boolean {
    return this.#image !== undefined;
  }

  /** As an image, if it can be one. */
  get imageSize(): ImageSize | undefined {
    return this.type === "float32" ? imageSizeOf(this.dims) : undefined;
  }

  /** As it lies. */
  get any(): Value {
    return this.#image ?? this.row;
  }

  /** In ONNX's order, its axes the dims. */
  get row(): Value {
    if (this.#row && isShape(axesOf(this.#row), this.dims)) return this.#row;
    return this.#row = this.op.Reshape(this.#laidInOrder(), this.dims);
  }

  /** Channels last. @throws RangeError where it is no image */
  get image(): Value {
    if (this.#image) return this.#image;
    const size = this.imageSize;
    if (size === undefined) {
      throw new RangeError(`[${this.dims.join(", ")}] is no image`);
    }
    return this.#image = this.op.Unflatten(this.row, size);
  }

  #laidInOrder(): Value {
    if (this.#row) return this.#row;
    if (this.#image) return this.op.Flatten(this.#image);
    const { constant, dims } = this;
    const data = constant!.data as Float32Array;
    return this.op.Constant(tensor(dims.length === 0 ? [1] : dims, data));
  }
}
