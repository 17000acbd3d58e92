/** What exported operators are written to: nodes in order, and constants, each tensor once. */
import type { Tensor } from "../../../src/tensor/tensor.ts";
import type {
  OnnxNode,
  PlainTensor,
} from "../../../test/kernels/equivalent.ts";

/** What a node has besides its inputs. */
export interface EmitOptions {
  attributes?: OnnxNode["attributes"];
  domain?: string;
  /** Which of its outputs are named; default: the first. */
  outputs?: readonly boolean[];
}

export class OnnxWriter {
  readonly nodes: OnnxNode[] = [];
  readonly constants: PlainTensor[] = [];
  /** Names of constants by what they are of and how they are laid out. */
  readonly #known = new Map<unknown, Map<string, string>>();
  #names = 0;

  /** A name that nothing has. */
  name(): string {
    return `v${this.#names++}`;
  }

  /** Appends a node. @returns the names of its outputs, "" for those left out */
  emit(
    opType: string,
    inputs: readonly string[],
    { attributes, domain, outputs = [true] }: EmitOptions = {},
  ): string[] {
    const names = outputs.map((isNamed) => isNamed ? this.name() : "");
    this.nodes.push({
      opType,
      inputs,
      outputs: names,
      ...(attributes && { attributes }),
      ...(domain !== undefined && { domain }),
    });
    return names;
  }

  /** A node of one output. */
  one(
    opType: string,
    inputs: readonly string[],
    attributes?: OnnxNode["attributes"],
  ): string {
    return this.emit(opType, inputs, attributes && { attributes })[0];
  }

  /** A weight in another shape of as many elements; default: its own. */
  weight(
    { data, shape }: Tensor,
    as: readonly number[] = shape,
  ): string {
    return this.#once(data, `${as}`, () => ({
      shape: as,
      data: data as Float32Array,
    }));
  }

  /** A weight [n, k] as [k, n]. */
  turned({ data, shape }: Tensor): string {
    const [n, k] = shape;
    return this.#once(data, "turned", () => {
      const out = new Float32Array(n * k);
      for (let j = 0; j < n; j++) {
        for (let i = 0; i < k; i++) out[i * n + j] = data[j * k + i];
      }
      return { shape: [k, n], data: out };
    });
  }

  /** Integers, as ONNX takes axes, sizes and positions. */
  integers(...values: readonly number[]): string {
    return this.#once("integers", `${values}`, () => ({
      shape: [values.length],
      type: "i64",
      data: BigInt64Array.from(values, BigInt),
    }));
  }

  /** One integer without an axis. */
  index(value: number): string {
    return this.#once("index", `${value}`, () => ({
      shape: [],
      type: "i64",
      data: BigInt64Array.of(BigInt(value)),
    }));
  }

  /** One float without an axis. */
  scalar(value: number): string {
    return this.#once("scalar", `${value}`, () => ({
      shape: [],
      data: Float32Array.of(value),
    }));
  }

  #once(
    of: unknown,
    layout: string,
    make: () => Omit<PlainTensor, "name">,
  ): string {
    const layouts = this.#known.get(of) ?? new Map<string, string>();
    this.#known.set(of, layouts);
    const known = layouts.get(layout);
    if (known !== undefined) return known;
    const name = this.name();
    layouts.set(layout, name);
    this.constants.push({ name, ...make() });
    return name;
  }
}
