/** Random cells over every operator of the cell builder, and a model that applies one cell once. */
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import type { Cell } from "../../src/graph/cell.ts";
import {
  defineCell,
  f32,
  i32,
  image,
  type Operators,
  type PortSpec,
} from "../../src/graph/cell_builder.ts";
import { axesOf, lastAxis } from "../../src/graph/row_layout.ts";
import type { Model } from "../../src/graph/model.ts";
import type {
  ImageOperator,
  OperatorName,
  QuantizedOperator,
  Value,
} from "../../src/graph/operator.ts";
import { runPlain } from "../../src/plain/registry.ts";
import { scalarOf } from "../../src/tensor/plain_tensor.ts";
import { elementCount, type Tensor, tensor } from "../../src/tensor/tensor.ts";
import { isImageOperator } from "./naive_images.ts";
import { applyImageOperator, IMAGE_OPERATORS } from "./random_images.ts";
import { applySignalOperator } from "./random_signals.ts";

/** Ids of an i32 input are below this. */
const IDS = 5;

/**
 * Which operators are drawn; caches belong to requests, and are tested with them. Of those of int8 (quantized_test.ts)
 * the least difference before makes another byte.
 */
const DRAWN: Readonly<
  Record<
    Exclude<OperatorName, (ImageOperator | QuantizedOperator)["op"]>,
    boolean
  >
> = {
  Gather: true,
  Gemm: true,
  LSTM: true,
  GRU: true,
  TreeLSTMLeaf: true,
  TreeLSTMNode: true,
  Add: true,
  Sub: true,
  Mul: true,
  Div: true,
  Max: true,
  Min: true,
  Relu: true,
  Sigmoid: true,
  Tanh: true,
  Exp: true,
  Gelu: true,
  GeluTanh: true,
  Swish: true,
  Erf: true,
  Sqrt: true,
  Neg: true,
  Abs: true,
  LeakyRelu: true,
  HardSigmoid: true,
  HardSwish: true,
  RMSNormalization: true,
  MatMul: true,
  RowAttention: true,
  TopK: true,
  Reshape: true,
  Transpose: true,
  RFFT: true,
  IRFFT: true,
  Magnitude: true,
  Plain: true,
  LayerNormalization: true,
  Softmax: true,
  Clip: true,
  Concat: true,
  Slice: true,
  ArgMax: true,
  Constant: true,
  CacheAppend: false,
  Attention: false,
  AdditiveAttention: false,
};

const OPERATORS: readonly OperatorName[] = [
  ...(Object.keys(DRAWN) as (keyof typeof DRAWN)[]).filter((op) => DRAWN[op]),
  ...IMAGE_OPERATORS,
];

/** One operator to append: which values it takes is counted modulo those that fit. */
interface Draw {
  readonly op: OperatorName;
  readonly takes: readonly number[];
  readonly size: number;
  readonly seed: number;
}

export interface RandomCell {
  readonly cell: Cell;
  /** Inputs of one request: a row per port. */
  rows(seed: number): number[][];
}

export const anyCell: fc.Arbitrary<RandomCell> = fc.record({
  widths: fc.array(fc.integer({ min: 1, max: 19 }), {
    minLength: 1,
    maxLength: 3,
  }),
  ids: fc.nat(2),
  images: fc.array(
    fc.tuple(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 5 }),
    ),
    { maxLength: 2 },
  ),
  draws: fc.array(
    fc.record({
      op: fc.constantFrom(...OPERATORS),
      takes: fc.array(fc.nat(40), { minLength: 4, maxLength: 4 }),
      size: fc.integer({ min: 1, max: 18 }),
      seed: fc.nat(10_000),
    }),
    { minLength: 1, maxLength: 9 },
  ),
  results: fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }),
}).map(({ widths, ids, images, draws, results }) => {
  const inputs: Record<string, PortSpec> = {};
  widths.forEach((width, i) => inputs[`x${i}`] = f32(width));
  images.forEach((size, i) => inputs[`image${i}`] = image(...size));
  for (let i = 0; i < ids; i++) inputs[`id${i}`] = i32();
  const cell = defineCell<string, string>({
    name: "random",
    inputs,
    body(op, ports) {
      const made = new Body(op, Object.values(ports));
      for (const draw of draws) made.append(draw);
      // Counted from the end: what was computed last leaves most often.
      return Object.fromEntries(
        results.map((
          back,
          i,
        ) => [`y${i}`, made.values.at(-1 - back % made.values.length)!]),
      );
    },
  });
  return { cell, rows: (seed) => randomRows(cell, seed) };
});

function randomRows(cell: Cell, seed: number): number[][] {
  const random = new Prng(seed);
  return cell.inputs.map(({ dtype, width }) =>
    Array.from(
      { length: width },
      () =>
        dtype === "i32" ? random.int(IDS) : Math.fround(4 * random.float() - 2),
    )
  );
}

/** The values of a body under way. */
class Body {
  readonly values: Value[];
  /** Ids that an i32 value may take are below this. */
  readonly #below = new Map<Value, number>();

  constructor(readonly op: Operators, inputs: Value[]) {
    this.values = [...inputs];
    for (const value of inputs) {
      if (value.dtype === "i32") this.#below.set(value, IDS);
    }
  }

  append(draw: Draw): void {
    const { op } = this;
    const random = new Prng(draw.seed);
    const [a, b, c, d] = draw.takes as [number, number, number, number];
    const { size } = draw;
    const x = this.#float(a);
    const weight = (...shape: number[]): Tensor => {
      const data = new Float32Array(elementCount(shape));
      const scale = 1 / Math.sqrt(elementCount(shape.slice(1)));
      for (let i = 0; i < data.length; i++) {
        data[i] = (2 * random.float() - 1) * scale;
      }
      return tensor(shape, data);
    };
    const maybe = (...shape: number[]) =>
      draw.seed % 2 ? weight(...shape) : undefined;
    switch (draw.op) {
      case "Gather": {
        const ids = this.values.filter((value) => this.#below.has(value));
        if (ids.length === 0) return;
        const id = ids[a % ids.length];
        this.#add(op.Gather(weight(this.#below.get(id)!, size), id));
        return;
      }
      case "Gemm": {
        const row = this.#plain(a);
        return this.#add(
          op.Gemm(row, weight(size, lastAxis(row)), maybe(size)),
        );
      }
      case "LSTM": {
        const h = this.#float(b);
        const bias = maybe(8 * h.width);
        const { h: h1, c: c1 } = op.LSTM(x, h, this.#float(c, h.width), {
          w: weight(4 * h.width, x.width),
          r: weight(4 * h.width, h.width),
          ...(bias && { b: bias }),
        });
        return this.#add(h1, c1);
      }
      case "GRU": {
        const h = this.#float(b);
        const bias = maybe(6 * h.width);
        return this.#add(op.GRU(x, h, {
          w: weight(3 * h.width, x.width),
          r: weight(3 * h.width, h.width),
          ...(bias && { b: bias }),
        }));
      }
      case "TreeLSTMLeaf": {
        const bias = maybe(3 * size);
        const { h, c: c1 } = op.TreeLSTMLeaf(x, {
          w: weight(3 * size, x.width),
          ...(bias && { b: bias }),
        });
        return this.#add(h, c1);
      }
      case "TreeLSTMNode": {
        const arity = 1 + size % 3;
        const children = Array.from(
          { length: 2 * arity },
          (_, k) => this.#float(b + k * d, x.width),
        );
        const bias = maybe((3 + arity) * x.width);
        const { h, c: c1 } = op.TreeLSTMNode(
          children.slice(0, arity),
          children.slice(arity),
          {
            u: weight((3 + arity) * x.width, arity * x.width),
            ...(bias && { b: bias }),
          },
        );
        return this.#add(h, c1);
      }
      case "Add":
      case "Sub":
      case "Mul":
      case "Max":
      case "Min": {
        const alike = this.values.filter((value) =>
          value.dtype === "f32" && endsIn(axesOf(x), axesOf(value))
        );
        const other = alike.at(-1 - b % alike.length)!;
        return this.#add(
          c % 2 ? op[draw.op](x, other) : op[draw.op](other, x),
        );
      }
      case "Div":
        // By what is far from 0.
        return this.#add(op.Div(x, op.Clip(op.Abs(x), { min: 0.5 })));
      case "Sqrt":
        return this.#add(op.Sqrt(op.Clip(op.Abs(x), { min: 0.1 })));
      case "Relu":
      case "Sigmoid":
      case "Tanh":
      case "Exp":
      case "Gelu":
      case "GeluTanh":
      case "Swish":
      case "Erf":
      case "Neg":
      case "Abs":
      case "HardSwish":
        return this.#add(op[draw.op](x));
      case "LeakyRelu":
      case "HardSigmoid":
        return this.#add(op[draw.op](x, random.float()));
      case "Reshape": {
        const row = this.#plain(a);
        const axes = factors(row.width, random);
        return this.#add(op.Reshape(row, axes));
      }
      case "Transpose": {
        const row = this.#plain(a);
        const from = op.Reshape(row, factors(row.width, random));
        const perm = from.shape!.map((_, axis) => axis);
        for (let i = perm.length - 1; i > 0; i--) {
          const k = random.int(i + 1);
          [perm[i], perm[k]] = [perm[k], perm[i]];
        }
        return this.#add(op.Transpose(from, perm));
      }
      case "RFFT":
      case "IRFFT":
      case "Magnitude":
        return this.#add(
          applySignalOperator(op, this.#plain(a), { op: draw.op, b, size }),
        );
      case "MatMul": {
        const row = this.#plain(a);
        const [matrices, m, k] = factors(row.width, random, 3);
        const fitting = this.values.filter((value) =>
          value.dtype === "f32" && !value.image &&
          value.width % (matrices * k) === 0
        );
        const right = fitting.at(-1 - b % Math.max(1, fitting.length));
        if (right === undefined) return;
        const n = right.width / (matrices * k);
        const transposed = c % 2 === 1;
        return this.#add(
          op.MatMul(
            op.Reshape(row, [matrices, m, k]),
            op.Reshape(right, [matrices, ...(transposed ? [n, k] : [k, n])]),
            { transposed },
          ),
        );
      }
      case "Plain": {
        const row = this.#plain(a);
        const dims = factors(row.width, random);
        return this.#add(...op.Plain({
          name: "CumSum",
          opset: 14,
          inputs: [
            { value: row, dims },
            scalarOf("int64", random.int(dims.length)),
          ],
          outputs: [{ dtype: "f32", dims }],
          run: runPlain,
        }));
      }
      case "RowAttention": {
        const row = this.#plain(a);
        const [groups, queries, heads, size] = factors(row.width, random, 4);
        const kvHeads = heads % 2 === 0 ? heads / 2 : heads;
        const each = groups * kvHeads * size;
        const fitting = this.values.filter((value) =>
          value.dtype === "f32" && !value.image && value.width % each === 0
        );
        const k = fitting.at(-1 - b % Math.max(1, fitting.length));
        if (k === undefined) return;
        const keys = k.width / each;
        const alike = fitting.filter(({ width }) => width === k.width);
        const v = alike.at(-1 - c % alike.length)!;
        const axes = [groups, keys, kvHeads * size];
        return this.#add(op.RowAttention(
          op.Reshape(row, [groups, queries, heads * size]),
          op.Reshape(k, axes),
          op.Reshape(v, axes),
          { heads, kvHeads, causal: keys === queries && d % 2 === 1 },
        ));
      }
      case "TopK": {
        const row = this.#plain(a);
        const { values, ids } = op.TopK(row, 1 + b % lastAxis(row), {
          largest: c % 2 === 1,
        });
        this.#add(values);
        if (ids.width === 1) this.#below.set(ids, lastAxis(row));
        return this.#add(ids);
      }
      case "RMSNormalization": {
        const row = this.#plain(a);
        return this.#add(op.RMSNormalization(row, {
          scale: weight(lastAxis(row)),
          epsilon: 1,
        }));
      }
      case "Softmax":
        return this.#add(op.Softmax(this.#plain(a)));
      case "Clip": {
        // Within what values are, so that something is cut off.
        const [least, most] = [-random.float(), random.float()];
        const which = draw.seed % 3;
        return this.#add(op.Clip(x, {
          ...(which !== 0 && { min: least }),
          ...(which !== 1 && { max: most }),
        }));
      }
      case "LayerNormalization": {
        const row = this.#plain(a);
        const bias = maybe(lastAxis(row));
        // Far from 0, so that rows whose elements are nearly equal keep their precision.
        return this.#add(op.LayerNormalization(row, {
          scale: weight(lastAxis(row)),
          ...(bias && { bias }),
          epsilon: 1,
        }));
      }
      case "Concat": {
        const rows = [x, this.#float(b), this.#float(c), this.#float(d)];
        const before = (value: Value) => axesOf(value).slice(0, -1).join();
        const alike = rows.filter((value) =>
          !value.image === !x.image && before(value) === before(x)
        );
        return this.#add(op.Concat(...alike.slice(0, 1 + size % 4)));
      }
      case "Slice": {
        const start = b % lastAxis(x);
        return this.#add(
          op.Slice(x, start, start + 1 + c % (lastAxis(x) - start)),
        );
      }
      case "ArgMax": {
        const id = op.ArgMax(x);
        this.#below.set(id, lastAxis(x));
        return this.#add(id);
      }
      case "Constant":
        return this.#add(op.Constant([...weight(size, 1).data]));
      default: {
        if (!isImageOperator(draw)) {
          throw new Error(`${draw.op} is drawn and not applied`);
        }
        const images = this.values.filter(({ image }) => image);
        if (images.length === 0) return;
        const from = images.at(-1 - a % images.length)!;
        const made = applyImageOperator(op, from, {
          op: draw.op,
          random,
          weight,
        });
        if (made) this.#add(made);
      }
    }
  }

  #add(...values: Value[]): void {
    this.values.push(...values);
  }

  /** An f32 value that is no image, the latest first. */
  #plain(back: number): Value {
    const fitting = this.values.filter((value) =>
      value.dtype === "f32" && value.image === undefined
    );
    return fitting.at(-1 - back % fitting.length)!;
  }

  /** An f32 value, the latest first, of the given width if any. */
  #float(back: number, width?: number): Value {
    const fitting = this.values.filter((value) =>
      value.dtype === "f32" && (width === undefined || value.width === width)
    );
    return fitting.at(-1 - back % fitting.length)!;
  }
}

/** Sizes of axes of so many elements. */
function factors(elements: number, random: Prng, count = 1 + random.int(4)) {
  const sizes: number[] = [];
  let left = elements;
  while (sizes.length < count - 1) {
    const divisors = Array.from({ length: left }, (_, i) => i + 1)
      .filter((size) => left % size === 0);
    const size = divisors[random.int(divisors.length)];
    sizes.push(size);
    left /= size;
  }
  return [...sizes, left];
}

/** Whether axes are the last ones of others. */
function endsIn(axes: readonly number[], last: readonly number[]): boolean {
  return last.length <= axes.length &&
    last.every((size, i) => axes.at(i - last.length) === size);
}

/** Every request is one node of `cell`; its input is a row per port, its results are the cell's outputs. */
export function onceModel(cell: Cell): Model<number[][]> {
  return {
    name: "once",
    cells: [cell],
    shape: "dag",
    check() {},
    unfold(rows, graph) {
      const node = graph.node(
        cell,
        Object.fromEntries(cell.inputs.map(({ name, dtype, width }, port) => [
          name,
          dtype === "i32"
            ? graph.id(graph.ids(rows[port]), 0)
            : graph.row(graph.rows(rows[port]), 0, width),
        ])),
      );
      for (const { name } of cell.outputs) {
        graph.result(name, graph.output(node, name));
      }
    },
  };
}
