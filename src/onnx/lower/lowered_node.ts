/** A node as its lowering sees it. */
import type { Operators } from "../../graph/cell_builder.ts";
import type { CacheRef, Value } from "../../graph/operator.ts";
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { numbersOf } from "../../tensor/plain_tensor.ts";
import { type Tensor, tensor } from "../../tensor/tensor.ts";
import { attributeOf, type OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import type { Operand } from "./operand.ts";
import type { QuantizedOperand } from "./quantized_operand.ts";

/**
 * What a node's results become, in order, as rows or images; undefined where operators of cells do not compute it. The
 * elements lie in ONNX's order but for images; axes are put right.
 */
export type NodeLowering = (
  view: LoweredNode,
) => Value | QuantizedOperand | readonly Value[] | undefined;

/** The graph around a node. */
export interface Around {
  /** Places a value, or gives what it became. */
  operand(name: string): Operand;
  known(name: string): KnownValue;
  /** A cache of the cell, by its place. */
  cache(place: number): CacheRef;
  /** Whether a value is no constant of floats, or one of finite ones: rows that all requests share are. */
  isFinite(name: string): boolean;
  /** The one node that reads a value that is no result of the graph. */
  onlyReader(name: string): OnnxNode | undefined;
  /** Whether a node reads a value, or it is a result of the graph. */
  isRead(name: string): boolean;
  /** Leaves a later node out: the node under way does its work, and makes its result. */
  absorb(node: OnnxNode): void;
}

export class LoweredNode {
  /** The value that the first result becomes: the node's own, or that of the last node it has absorbed. */
  result: string;

  constructor(
    readonly node: OnnxNode,
    readonly op: Operators,
    readonly around: Around,
  ) {
    this.result = node.outputs[0];
  }

  get version(): number {
    return this.node.version;
  }

  /** Whether an optional input is there. */
  has(i: number): boolean {
    return (this.node.inputs[i] ?? "") !== "";
  }

  /** Input `i`. */
  operand(i = 0): Operand {
    return this.around.operand(this.node.inputs[i]);
  }

  /** All inputs that are there. */
  get operands(): Operand[] {
    return this.node.inputs.filter((name) => name !== "").map((name) =>
      this.around.operand(name)
    );
  }

  /** Input `i`, where it is a constant; without placing it. */
  constant(i: number): PlainTensor | undefined {
    return this.has(i)
      ? this.around.known(this.node.inputs[i]).constant
      : undefined;
  }

  /** Whether input `i` is left out or a constant of floats. */
  isWeight(i: number): boolean {
    return !this.has(i) || this.constant(i)?.type === "float32";
  }

  /** A constant of floats; undefined where it is left out. */
  weight(i: number, shape?: readonly number[]): Tensor | undefined {
    const found = this.constant(i);
    return found && tensor(shape ?? found.dims, found.data as Float32Array);
  }

  /** Numbers of a constant input. */
  numbers(i: number): readonly number[] | undefined {
    const found = this.constant(i);
    return found && numbersOf(found);
  }

  /** Dims of result `i`. */
  dims(i = 0): readonly number[] {
    return this.around.known(this.node.outputs[i]).dims;
  }

  /** Whether somebody wants result `i`. */
  wants(i: number): boolean {
    const name = this.node.outputs[i] ?? "";
    return name !== "";
  }

  int(name: string, absent: number): number {
    return attributeOf(this.node, name, "int") ?? absent;
  }

  float(name: string, absent: number): number {
    return attributeOf(this.node, name, "float") ?? absent;
  }

  ints(name: string): readonly number[] | undefined {
    return attributeOf(this.node, name, "ints");
  }

  text(name: string, absent: string): string {
    return attributeOf(this.node, name, "string") ?? absent;
  }

  /** An axis from 0. */
  axis(axis: number, rank = this.operand().rank): number {
    return axis < 0 ? axis + rank : axis;
  }

  /**
   * The constant that alone is added to the first result, when it has one number for each element of an axis; the
   * node that adds it is absorbed.
   */
  takeBias(axis: number): Tensor | undefined {
    const next = this.around.onlyReader(this.result);
    if (next?.op !== "Add" || next.domain !== "") return undefined;
    const other = next.inputs[next.inputs[0] === this.result ? 1 : 0];
    const bias = this.around.known(other).constant;
    const { dims } = this.around.known(this.result);
    const rank = dims.length;
    const size = dims[axis];
    const isBias = bias?.type === "float32" && bias.data.length === size &&
      this.around.isFinite(other) &&
      bias.dims.length <= rank &&
      bias.dims.every((n, i) =>
        n === (i + rank - bias.dims.length === axis ? size : 1)
      );
    if (!isBias) return undefined;
    this.around.absorb(next);
    this.result = next.outputs[0];
    return tensor([size], bias.data as Float32Array);
  }
}
