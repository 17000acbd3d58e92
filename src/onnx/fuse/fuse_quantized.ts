/**
 * Patterns that stand for products of integers. Between DequantizeLinear and QuantizeLinear a convolution or a product
 * of quantised values is one of integers (ONNX Runtime's form "QDQ"); behind DynamicQuantizeLinear sums are multiplied
 * with both scales. Each becomes one node; weights that are quantised for other operators become floats.
 */
import { type PlainTensor, scalarOf } from "../../tensor/plain_tensor.ts";
import { attributeOf, type OnnxGraph, type OnnxNode } from "../ir.ts";
import { readNames } from "../names.ts";
import { appendsToCache } from "../cache_nodes.ts";
import type { KnownValue } from "../known_value.ts";
import type { Place } from "../place.ts";
import { runConstant } from "../run_constant.ts";
import {
  type ByteType,
  factorsOf,
  isByteType,
  isScale,
  perOutput,
  QUANTIZED_DOMAIN,
  scalarIn,
  sumsAreFloats,
  transposedBytes,
  unsignedZero,
  weightBytes,
} from "../quantized_bytes.ts";

/** A graph with what is known of its values. */
export interface FusedGraph {
  readonly graph: OnnxGraph;
  readonly known: ReadonlyMap<string, KnownValue>;
}

/** Of a bias that is quantised with the scales of what it is added to: as far as these may be off. */
const BIAS_SCALE_TOLERANCE = 1e-5;

/** A value that comes from DequantizeLinear with one scale, or one for each index of an axis. */
interface Dequantized {
  readonly from: string;
  readonly scaleName: string;
  readonly scale: PlainTensor;
  /** Undefined: 0. */
  readonly zero: PlainTensor | undefined;
  readonly zeroName: string;
  readonly axis: number;
}

/** @throws OnnxError naming a DequantizeLinear that refuses its weight */
export function fuseQuantized(
  graph: OnnxGraph,
  known: ReadonlyMap<string, KnownValue>,
  place: Place,
): FusedGraph {
  const isQuantized = ({ op, domain }: OnnxNode) =>
    domain === "" && (op === "DequantizeLinear" || op === "MatMulInteger" ||
      op === "ConvInteger");
  if (!graph.nodes.some(isQuantized)) return { graph, known };
  return new Fusion(graph, new Map(known), place).run();
}

/** Whether a constant has a number for every output: columns, or, from rank 3, channels. */
function isByOutput(
  { dims }: PlainTensor,
  outputs: number,
  rank: number,
): boolean {
  const channels = dims.length - Math.max(rank - 1, 1);
  return channels >= 0 && dims.length <= rank &&
    dims.every((size, axis) => size === (axis === channels ? outputs : 1));
}

class Fusion {
  readonly #producers = new Map<string, OnnxNode>();
  readonly #readers = new Map<string, OnnxNode[]>();
  readonly #outputs: ReadonlySet<string>;
  /** What takes a node's place. */
  readonly #fused = new Map<OnnxNode, OnnxNode>();

  constructor(
    readonly graph: OnnxGraph,
    readonly known: Map<string, KnownValue>,
    readonly place: Place,
  ) {
    this.#outputs = new Set(graph.outputs.map(({ name }) => name));
    for (const node of graph.nodes) {
      for (const name of node.outputs) this.#producers.set(name, node);
      for (const name of new Set(readNames(node))) {
        const readers = this.#readers.get(name);
        if (readers) readers.push(node);
        else this.#readers.set(name, [node]);
      }
    }
  }

  run(): FusedGraph {
    for (const node of this.graph.nodes) {
      if (node.domain !== "") continue;
      if (node.op === "QuantizeLinear") this.#between(node);
      if (node.op === "MatMulInteger" || node.op === "ConvInteger") {
        this.#dynamic(node);
      }
    }
    const nodes = this.#living(
      this.graph.nodes.map((node) => this.#fused.get(node) ?? node),
    ).filter((node) => !this.#isFolded(node));
    return { graph: { ...this.graph, nodes }, known: this.known };
  }

  #constant(name: string): PlainTensor | undefined {
    return name === "" ? undefined : this.known.get(name)?.constant;
  }

  #onlyReader(name: string): OnnxNode | undefined {
    const readers = this.#readers.get(name) ?? [];
    return readers.length === 1 && !this.#outputs.has(name) &&
        readers[0].domain === ""
      ? readers[0]
      : undefined;
  }

  /** The node of ONNX's own that makes a value which nobody else reads. */
  #onlyFor(name: string, ...ops: readonly string[]): OnnxNode | undefined {
    const producer = this.#producers.get(name);
    return producer?.domain === "" && ops.includes(producer.op) &&
        this.#onlyReader(name) !== undefined
      ? producer
      : undefined;
  }

  #dequantized(name: string): Dequantized | undefined {
    const node = this.#producers.get(name);
    if (node?.domain !== "" || node.op !== "DequantizeLinear") return undefined;
    const [from, scaleName, zeroName = ""] = node.inputs;
    const scale = this.#constant(scaleName);
    const zero = this.#constant(zeroName);
    const isBlocked = (attributeOf(node, "block_size", "int") ?? 0) !== 0;
    const isGiven = zeroName === "" || zero !== undefined;
    if (scale?.type !== "float32" || !isGiven || isBlocked) return undefined;
    const axis = attributeOf(node, "axis", "int") ?? 1;
    const rank = this.known.get(from)!.dims.length;
    return {
      ...{ from, scaleName, scale, zero, zeroName },
      axis: axis < 0 ? axis + rank : axis,
    };
  }

  /** A constant under a name of its own. */
  #define(name: string, constant: PlainTensor): string {
    const { type, dims } = constant;
    this.known.set(name, { type, dims, constant });
    return name;
  }

  #zeroName({ zeroName, from }: Dequantized): string {
    if (zeroName !== "") return zeroName;
    const { type } = this.known.get(from)!;
    return this.#define(`${from} zero`, scalarOf(type as ByteType, 0));
  }

  /** DequantizeLinear of all operands, Conv, MatMul or Gemm, QuantizeLinear. */
  #between(last: OnnxNode): void {
    const [behind, toScale, toZero = ""] = last.inputs;
    const [result] = last.outputs;
    const { type } = this.known.get(result)!;
    const isRange = scalarIn(this.#constant(toScale)) !== undefined &&
      (toZero === "" || scalarIn(this.#constant(toZero)) !== undefined);
    if (!isRange || !isByteType(type)) return;
    const zero = toZero === "" ? 0 : scalarIn(this.#constant(toZero))!;
    const relu = this.#onlyFor(behind, "Relu");
    // Bytes are cut off there, too.
    if (relu && unsignedZero(type, zero) !== 0) return;
    const node = this.#onlyFor(
      relu ? relu.inputs[0] : behind,
      ...["Conv", "MatMul", "Gemm"],
    );
    if (!node) return;
    const [x, w] = node.inputs.slice(0, 2).map((name) =>
      this.#dequantized(name)
    );
    if (!x || !w || !this.#isInput(x) || !this.#isWeight(node, w)) return;
    const bias = this.#bias(node, x, w, scalarIn(this.#constant(toScale))!);
    if (bias === undefined) return;
    const zeroName = toZero ||
      this.#define(`${result} zero`, scalarOf(type, 0));
    const from = [x.from, x.scaleName, this.#zeroName(x)];
    const weight = [w.from, w.scaleName, this.#zeroName(w)];
    const to = [toScale, zeroName];
    const isConv = node.op === "Conv";
    const turned = isConv ? undefined : this.#matrix(node, w);
    const fused = {
      ...node,
      version: last.version,
      outputs: last.outputs,
      ...(isConv
        ? {
          op: "QLinearConv",
          inputs: [...from, ...weight, ...to, ...(bias ? [bias] : [])],
        }
        : bias === ""
        ? {
          op: "QLinearMatMul",
          inputs: [...from, ...weight.with(0, turned!), ...to],
          attributes: new Map(),
        }
        : {
          op: "QGemm",
          domain: QUANTIZED_DOMAIN,
          inputs: [...from, ...weight.with(0, turned!), bias, ...to],
          attributes: new Map(),
        }),
    };
    this.#fused.set(last, fused);
  }

  /** Bytes of a request with one scale. */
  #isInput({ from, scale, zero }: Dequantized): boolean {
    const { type, constant } = this.known.get(from)!;
    const isScalar = (given: PlainTensor | undefined) =>
      given === undefined || given.data.length === 1;
    return isByteType(type) && constant === undefined && isScalar(scale) &&
      isScalar(zero);
  }

  /** A constant of bytes, scaled as a whole or by outputs. */
  #isWeight(node: OnnxNode, { from, scale, axis }: Dequantized): boolean {
    const { constant, type, dims } = this.known.get(from)!;
    if (!constant || !isByteType(type)) return false;
    if (node.op !== "Conv" && dims.length !== 2) return false;
    const byOutput = node.op === "Conv" ? 0 : this.#isTurned(node) ? 0 : 1;
    return scale.data.length === 1 || axis === byOutput;
  }

  /** Whether a weight is [n][k] as it is. */
  #isTurned(node: OnnxNode): boolean {
    return attributeOf(node, "transB", "int") === 1;
  }

  /** Name of a weight [k][n]. */
  #matrix(node: OnnxNode, { from }: Dequantized): string {
    if (!this.#isTurned(node)) return from;
    return this.#define(
      `${from} turned`,
      transposedBytes(this.#constant(from))!,
    );
  }

  /** Name of the integers that are added, "" for none; undefined where what is added are no such integers. */
  #bias(
    node: OnnxNode,
    x: Dequantized,
    w: Dequantized,
    toScale: number,
  ): string | undefined {
    const { op, inputs } = node;
    if (op === "Gemm") {
      const isPlain = (name: string) =>
        (attributeOf(node, name, "float") ?? 1) === 1;
      const isProduct = isPlain("alpha") && isPlain("beta") &&
        (attributeOf(node, "transA", "int") ?? 0) === 0;
      if (!isProduct) return undefined;
    }
    const name = inputs[2] ?? "";
    if (name === "") return "";
    const bias = this.#dequantized(name);
    const given = bias && this.#constant(bias.from);
    const { dims } = this.known.get(w.from)!;
    const count = dims[op === "Conv" || this.#isTurned(node) ? 0 : 1];
    const isInts = given?.type === "int32" && given.dims.length === 1 &&
      given.data.length === count &&
      (bias?.zero === undefined || scalarIn(bias.zero) === 0);
    if (!bias || !given || !isInts) return undefined;
    const scales = perOutput(bias.scale, count);
    const weights = perOutput(w.scale, count);
    const from = scalarIn(x.scale)!;
    const fits = scales && weights &&
      scales.every((scale, i) =>
        Math.abs(scale - from * weights[i]) <= BIAS_SCALE_TOLERANCE * scale
      );
    if (!fits) return undefined;
    const isWhole = op !== "Gemm" ||
      factorsOf(from, weights, toScale) && this.#canSum(node, x, w, given);
    if (!isWhole) return undefined;
    return bias.from;
  }

  /** Whether a product with a bias, which ONNX has no operator for, is one that kernels compute. */
  #canSum(
    node: OnnxNode,
    x: Dequantized,
    w: Dequantized,
    bias: PlainTensor,
  ): boolean {
    const constant = this.#constant(w.from);
    const rows = this.#isTurned(node) ? constant : transposedBytes(constant);
    const bytes = weightBytes(rows, w.zero);
    const { type } = this.known.get(x.from)!;
    const zero = unsignedZero(type as ByteType, scalarIn(x.zero) ?? 0);
    return bytes !== undefined &&
      sumsAreFloats(bytes, zero, Array.from(bias.data, Number));
  }

  /** DynamicQuantizeLinear, product, Cast, Mul with the product of both scales. */
  #dynamic(node: OnnxNode): void {
    const [x, w, xZero = "", wZero = ""] = node.inputs;
    const range = this.#producers.get(x);
    const isDynamic = range?.op === "DynamicQuantizeLinear" &&
      range.domain === "" && range.outputs[0] === x &&
      range.outputs[2] === xZero;
    if (!isDynamic || this.#constant(range.inputs[0])) return;
    const cast = this.#onlyReader(node.outputs[0]);
    if (cast?.op !== "Cast") return;
    if (this.known.get(cast.outputs[0])?.type !== "float32") return;
    const last = this.#onlyReader(cast.outputs[0]);
    if (last?.op !== "Mul") return;
    const other = last.inputs[last.inputs[0] === cast.outputs[0] ? 1 : 0];
    const scales = this.#producers.get(other);
    if (scales?.op !== "Mul" || scales.domain !== "") return;
    const ownScale = range.outputs[1];
    const at = scales.inputs.indexOf(ownScale);
    const wScale = scales.inputs[1 - at];
    const weight = this.#constant(w);
    const scale = this.#constant(wScale);
    const isConv = node.op === "ConvInteger";
    const bytes = weightBytes(
      isConv ? weight : transposedBytes(weight),
      this.#constant(wZero),
    );
    const rank = this.known.get(x)!.dims.length;
    const isGiven = at >= 0 && bytes && scale?.type === "float32" &&
      (wZero === "" || this.#constant(wZero)) && rank >= (isConv ? 3 : 2) &&
      Array.from(scale.data, Number).every(isScale) &&
      (attributeOf(node, "pads", "ints") ?? []).every((pad) => pad >= 0) &&
      (scale.data.length === 1
        ? scale.dims.length <= rank
        : isByOutput(scale, bytes.shape[0], isConv ? rank : 1));
    const isImage = !isConv ||
      this.known.get(x)!.dims[0] === 1 && rank <= 4;
    if (!isGiven || !isImage) return;
    this.#fused.set(last, {
      ...node,
      op: isConv ? "DynamicQuantizeConv" : "DynamicQuantizeMatMul",
      domain: QUANTIZED_DOMAIN,
      inputs: [range.inputs[0], w, this.#flat(wScale, scale), wZero],
      outputs: last.outputs,
    });
  }

  /** Name of a constant without other axes than one, if it has more. */
  #flat(name: string, { data, dims }: PlainTensor<"float32">): string {
    if (dims.length <= 1) return name;
    return this.#define(`${name} flat`, {
      ...{ type: "float32", dims: [data.length], data },
    });
  }

  /** Nodes that results depend on. */
  #living(nodes: readonly OnnxNode[]): OnnxNode[] {
    const needed = new Set(this.#outputs);
    return nodes.toReversed().filter((node) => {
      const isNeeded = appendsToCache(node) ||
        node.outputs.some((name) => needed.has(name));
      if (!isNeeded) return false;
      for (const name of readNames(node)) needed.add(name);
      return true;
    }).toReversed();
  }

  /** Makes floats of a weight that only kernels of floats take. */
  #isFolded(node: OnnxNode) {
    const { op, domain, inputs, outputs } = node;
    if (op !== "DequantizeLinear" || domain !== "") return false;
    const given = inputs.map((name) => this.#constant(name));
    const isConstant = inputs.every((name, i) => name === "" || given[i]);
    if (!isConstant) return false;
    const [constant] = runConstant(node, given, this.place.node(node));
    this.#define(outputs[0], constant);
    return true;
  }
}
