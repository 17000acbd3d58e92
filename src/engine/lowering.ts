/**
 * Compiles a cell's operators to kernel calls. What the kernels fuse is fused: Gemm with a following
 * activation, Gemm with ArgMax (no logits are stored unless someone else reads them), Concat into the
 * two segments of a Gemm. Values that leave the cell are written straight into the request's slot.
 */
import { assert } from "../base/assert.ts";
import type { Cell } from "../graph/cell.ts";
import type { Operator, Value } from "../graph/operator.ts";
import { alignUp } from "../graph/slot_plan.ts";
import { ACTIVATIONS } from "../kernels/module.ts";
import { packGemm } from "../kernels/pack.ts";
import {
  packGru,
  packLstm,
  packTreeInternal,
  packTreeLeaf,
} from "../kernels/pack_cells.ts";
import { BYTES_PER_ELEMENT } from "../tensor/tensor.ts";
import {
  type Argument,
  type Call,
  type CellProgram,
  type FixedTable,
  ROWS_PER_CALL,
  type TableRef,
} from "./cell_program.ts";

/** Puts constant data into the shared memory and says where; 16-byte aligned. */
export type PlaceConstant = (data: Float32Array) => number;

const FUSED_ACTIVATION = {
  Relu: ACTIVATIONS.relu,
  Sigmoid: ACTIVATIONS.sigmoid,
  Tanh: ACTIVATIONS.tanh,
} as const;
const UNARY = {
  Relu: "relu_f32",
  Sigmoid: "sigmoid_f32",
  Tanh: "tanh_f32",
  Exp: "exp_f32",
  Softmax: "softmax_rows_f32",
} as const;
const BINARY = { Add: "add_f32", Sub: "sub_f32", Mul: "mul_f32" } as const;

export function lowerCell(cell: Cell, place: PlaceConstant): CellProgram {
  return new Lowering(cell, place).program();
}

class Lowering {
  readonly #calls: Call[] = [];
  readonly #fixedTables: FixedTable[] = [];
  /** Where each value's rows are, by value id. */
  readonly #rows = new Map<number, TableRef>();
  readonly #consumers = new Map<number, Operator[]>();
  /** Operators whose work another one has taken over. */
  readonly #fused = new Set<Operator>();
  #tableBytes = 0;
  #scratchBytes = 0;

  constructor(readonly cell: Cell, readonly place: PlaceConstant) {
    cell.inputs.forEach((_, port) => this.#rows.set(port, { port }));
    for (const operator of cell.operators) {
      for (const input of operator.inputs) {
        const consumers = this.#consumers.get(input.id);
        if (consumers) consumers.push(operator);
        else this.#consumers.set(input.id, [operator]);
      }
    }
    // A value leaves through the first output port that names it; others get a copy.
    cell.results.forEach((value, port) => {
      const own = value.id >= cell.inputs.length && this.#isComputed(value);
      if (own && !this.#rows.has(value.id)) {
        this.#rows.set(value.id, { port: cell.inputs.length + port });
      }
    });
  }

  program(): CellProgram {
    const { cell } = this;
    for (const operator of cell.operators) {
      if (!this.#fused.has(operator)) this.#lower(operator);
    }
    cell.results.forEach((value, port) => {
      const from = this.#tableOf(value);
      const to = { port: cell.inputs.length + port };
      if (!("port" in from && from.port === to.port)) {
        this.#kernel("copy_rows", [
          "rows",
          value.width * BYTES_PER_ELEMENT,
          from,
          to,
        ]);
      }
    });
    return {
      name: cell.name,
      inputs: cell.inputs.length,
      outputWidths: cell.outputs.map(({ width }) => width),
      calls: this.#calls,
      fixedTables: this.#fixedTables,
      tableBytes: this.#tableBytes,
      scratchBytes: this.#scratchBytes,
      ...(cell.stop &&
        { stop: { port: cell.stop.port, token: cell.stop.token ?? -1 } }),
    };
  }

  #lower(operator: Operator): void {
    const { inputs, outputs } = operator;
    switch (operator.op) {
      case "Gather": {
        const { table } = operator;
        const [count, width] = table.shape as [number, number];
        const rows = this.#ownTable();
        this.#rows.set(outputs[0]!.id, rows);
        const args = [
          "rows",
          this.#tableOf(inputs[0]!),
          this.place(table.data),
          width * BYTES_PER_ELEMENT,
          count,
          rows,
        ];
        this.#calls.push({
          call: "kernel",
          kernel: "gather_rows",
          args: args as Argument[],
          reports: true,
        });
        return;
      }
      case "Gemm":
        return this.#lowerGemm(operator);
      case "LSTM": {
        const [x, h, c] = inputs as [Value, Value, Value];
        const weights = packLstm({
          hidden: h.width,
          inputSize: x.width,
          w: operator.w.data,
          r: operator.r.data,
          ...(operator.b && { b: operator.b.data }),
        });
        this.#kernel("lstm_step_f32", [
          "rows",
          h.width,
          x.width,
          this.#tableOf(x),
          this.#tableOf(h),
          this.#tableOf(c),
          this.place(weights),
          this.#output(outputs[0]!),
          this.#output(outputs[1]!),
        ]);
        return;
      }
      case "GRU": {
        const [x, h] = inputs as [Value, Value];
        const weights = packGru({
          hidden: h.width,
          inputSize: x.width,
          w: operator.w.data,
          r: operator.r.data,
          ...(operator.b && { b: operator.b.data }),
        });
        this.#kernel("gru_step_f32", [
          "rows",
          h.width,
          x.width,
          this.#tableOf(x),
          this.#tableOf(h),
          this.place(weights),
          this.#output(outputs[0]!),
        ]);
        return;
      }
      case "TreeLSTMLeaf": {
        const x = inputs[0]!;
        const hidden = outputs[0]!.width;
        const weights = packTreeLeaf({
          hidden,
          inputSize: x.width,
          w: operator.w.data,
          ...(operator.b && { b: operator.b.data }),
        });
        const [h, c] = [this.#output(outputs[0]!), this.#output(outputs[1]!)];
        this.#kernel("tree_leaf_f32", [
          "rows",
          hidden,
          x.width,
          this.#tableOf(x),
          this.place(weights),
          h,
          c,
        ]);
        return;
      }
      case "TreeLSTMNode": {
        const { arity } = operator;
        const hidden = outputs[0]!.width;
        const weights = packTreeInternal({
          hidden,
          arity,
          r: operator.u.data,
          ...(operator.b && { b: operator.b.data }),
        });
        const hTables = this.#list(inputs.slice(0, arity));
        const cTables = this.#list(inputs.slice(arity));
        const [h, c] = [this.#output(outputs[0]!), this.#output(outputs[1]!)];
        this.#kernel("tree_internal_f32", [
          "rows",
          hidden,
          arity,
          hTables,
          cTables,
          this.place(weights),
          h,
          c,
        ]);
        return;
      }
      case "Add":
      case "Sub":
      case "Mul": {
        const [a, b] = inputs as [Value, Value];
        const out = this.#output(outputs[0]!);
        this.#kernel(BINARY[operator.op], [
          "rows",
          a.width,
          this.#tableOf(a),
          this.#tableOf(b),
          out,
        ]);
        return;
      }
      case "Relu":
      case "Sigmoid":
      case "Tanh":
      case "Exp":
      case "Softmax": {
        const x = inputs[0]!;
        this.#kernel(UNARY[operator.op], [
          "rows",
          x.width,
          this.#tableOf(x),
          this.#output(outputs[0]!),
        ]);
        return;
      }
      case "Concat": {
        if (this.#readAsSegments(operator)) return;
        const to = this.#output(outputs[0]!);
        let bytes = 0;
        for (const part of inputs) {
          this.#kernel("copy_rows", [
            "rows",
            part.width * BYTES_PER_ELEMENT,
            this.#tableOf(part),
            this.#offset(to, bytes),
          ]);
          bytes += part.width * BYTES_PER_ELEMENT;
        }
        return;
      }
      case "Slice":
        this.#rows.set(
          outputs[0]!.id,
          this.#offset(
            this.#tableOf(inputs[0]!),
            operator.start * BYTES_PER_ELEMENT,
          ),
        );
        return;
      case "ArgMax": {
        const x = inputs[0]!;
        this.#kernel("argmax_rows_f32", [
          "rows",
          x.width,
          this.#tableOf(x),
          this.#output(outputs[0]!),
        ]);
        return;
      }
      case "Constant": {
        const table = this.#ownTable();
        this.#fixedTables.push({
          table: table.own,
          base: this.place(operator.value.data),
          stride: 0,
        });
        this.#rows.set(outputs[0]!.id, table);
        return;
      }
      default:
        operator satisfies never;
    }
  }

  #lowerGemm(operator: Operator & { op: "Gemm" }): void {
    const x = operator.inputs[0]!;
    const y = operator.outputs[0]!;
    const n = y.width;
    const weights = packGemm({
      n,
      k: x.width,
      weight: operator.weight.data,
      layout: "nk",
      ...(operator.bias && { bias: operator.bias.data }),
    });
    const readers = this.#consumers.get(y.id) ?? [];
    const leaves = this.cell.results.some(({ id }) => id === y.id);
    const argMax = readers.find(({ op }) => op === "ArgMax");
    if (argMax) {
      this.#fused.add(argMax);
      const stored = leaves || readers.length > 1;
      this.#kernel("projection_argmax_f32", [
        "rows",
        n,
        x.width,
        this.#tableOf(x),
        this.place(weights),
        this.#output(argMax.outputs[0]!),
        stored ? this.#output(y) : 0,
        { scratch: this.#scratch(BYTES_PER_ELEMENT * ROWS_PER_CALL) },
      ]);
      return;
    }
    const [only] = readers;
    const activation =
      readers.length === 1 && !leaves && only!.op in FUSED_ACTIVATION
        ? only!
        : undefined;
    if (activation) this.#fused.add(activation);
    const [first, second] = this.#segments(x);
    this.#kernel("gemm_f32", [
      "rows",
      n,
      first.width,
      this.#tableOf(first),
      second?.width ?? 0,
      second ? this.#tableOf(second) : 0,
      this.place(weights),
      this.#output(activation ? activation.outputs[0]! : y),
      activation
        ? FUSED_ACTIVATION[activation.op as keyof typeof FUSED_ACTIVATION]
        : ACTIVATIONS.none,
    ]);
  }

  /** Whether a Concat is read only by Gemms that take its two parts as they are. */
  #readAsSegments(concat: Operator): boolean {
    const value = concat.outputs[0]!;
    const leaves = this.cell.results.some(({ id }) => id === value.id);
    const readers = this.#consumers.get(value.id) ?? [];
    return concat.op === "Concat" && concat.inputs.length === 2 && !leaves &&
      readers.every((reader) =>
        reader.op === "Gemm" &&
        !(this.#consumers.get(reader.outputs[0]!.id) ?? []).some(({ op }) =>
          op === "ArgMax"
        )
      );
  }

  #segments(x: Value): [Value] | [Value, Value] {
    const producer = this.cell.operators.find(({ outputs }) =>
      outputs.some(({ id }) => id === x.id)
    );
    if (producer && this.#readAsSegments(producer)) {
      return [producer.inputs[0]!, producer.inputs[1]!];
    }
    return [x];
  }

  /** Whether the value is written by a kernel, rather than being a view of something else. */
  #isComputed(value: Value): boolean {
    const producer = this.cell.operators.find(({ outputs }) =>
      outputs.some(({ id }) => id === value.id)
    );
    return producer !== undefined &&
      !["Gather", "Slice", "Constant"].includes(producer.op);
  }

  #tableOf(value: Value): TableRef {
    const rows = this.#rows.get(value.id);
    assert(
      rows !== undefined,
      `value ${value.id} of cell "${this.cell.name}" is produced before it is read`,
    );
    return rows;
  }

  /** Where a computed value goes: its output port, or scratch rows of the worker. */
  #output(value: Value): TableRef {
    let rows = this.#rows.get(value.id);
    if (rows === undefined) {
      const stride = alignUp(value.width * BYTES_PER_ELEMENT);
      rows = this.#ownTable();
      this.#fixedTables.push({
        table: rows.own,
        base: { scratch: this.#scratch(stride * ROWS_PER_CALL) },
        stride,
      });
      this.#rows.set(value.id, rows);
    }
    return rows;
  }

  #offset(from: TableRef, bytes: number): TableRef {
    if (bytes === 0) return from;
    const to = this.#ownTable();
    this.#calls.push({ call: "offset", from, to, bytes });
    return to;
  }

  #list(values: readonly Value[]): TableRef {
    const to = this.#ownTable();
    this.#calls.push({
      call: "list",
      tables: values.map((value) => this.#tableOf(value)),
      to,
    });
    return to;
  }

  #ownTable(): { own: number } {
    const own = this.#tableBytes;
    this.#tableBytes += BYTES_PER_ELEMENT * ROWS_PER_CALL;
    return { own };
  }

  #scratch(bytes: number): number {
    const at = this.#scratchBytes;
    this.#scratchBytes += bytes;
    return at;
  }

  #kernel(
    kernel: (Call & { call: "kernel" })["kernel"],
    args: readonly Argument[],
  ): void {
    this.#calls.push({ call: "kernel", kernel, args });
  }
}
