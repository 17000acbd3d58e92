/** Nodes and constants of a file that is being written, name by name. */
import { plainOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";
import {
  node,
  type WrittenAttribute,
  type WrittenNode,
} from "./write_model.ts";

/** Nodes and constants of a file that is being written. */
export class FileParts {
  readonly nodes: WrittenNode[] = [];
  readonly initializers: Record<string, PlainTensor> = {};
  #count = 0;

  /** Adds a node. @returns its output */
  add(
    op: string,
    inputs: readonly string[],
    attributes?: Record<string, WrittenAttribute>,
    output = `${op}_${this.#count++}`,
  ): string {
    this.nodes.push(node(op, inputs, [output], attributes));
    return output;
  }

  /** Adds a constant. @returns its name */
  constant(tensor: PlainTensor, name = `constant_${this.#count++}`): string {
    this.initializers[name] = tensor;
    return name;
  }

  ints(...numbers: number[]): string {
    return this.constant(plainOf("int64", [numbers.length], numbers));
  }

  float(number: number): string {
    return this.constant(plainOf("float32", [], [number]));
  }
}
