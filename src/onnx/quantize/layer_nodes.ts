/**
 * Nodes of bytes for layers of floats: DynamicQuantizeLinear, MatMulInteger or ConvInteger, Cast, and Mul with the
 * product of both scales, as ONNX Runtime's `quantize_dynamic` writes them.
 */
import {
  type PlainTensor,
  plainTensor,
  scalarOf,
} from "../../tensor/plain_tensor.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import { CONTRIB_DOMAIN } from "../domains.ts";
import { type FloatLayer, nameOf } from "./layers.ts";
import { lstmBytes, type LstmLayer } from "./lstm_layer.ts";
import type { StoredGraph } from "./stored_graph.ts";
import { byteWeight, MIDDLE } from "./weight.ts";
import { bytesField } from "./wire_fields.ts";
import type { WrittenNode, WrittenType } from "./write_parts.ts";

const NODE_ATTRIBUTE = 5;
const FLOAT32 = 1;

/** A layer that has become one of bytes. */
export interface QuantizedLayer {
  /** As in the file, or what comes out of it. */
  readonly name: string;
  /** "MatMul", "Gemm", "Conv" or "LSTM". */
  readonly op: string;
  /** Sizes of its weight, as the file has it; of an LSTM's for x. */
  readonly shape: readonly number[];
  /** Of its weights in the file. */
  readonly bytesBefore: number;
  /** Of the bytes and scales in its place. */
  readonly bytesAfter: number;
}

/** Makes nodes and tensors for the layers of a graph. */
export class LayerNodes {
  /** What takes a node's place, by its own. */
  readonly replaced = new Map<number, readonly WrittenNode[]>();
  /** What these nodes read. */
  readonly tensors: (readonly [string, PlainTensor<WrittenType>])[] = [];
  /** Constants that layers read no more, and what they are made of. */
  readonly spared = new Set<string>();
  /** Values that are quantised already, by name: bytes, scale, zero point. */
  readonly #dynamic = new Map<string, readonly [string, string, string]>();
  /** Constants that several layers may share, by what they are of. */
  readonly #shared = new Map<string, readonly string[]>();

  /**
   * @param values what is known of every value of the graph
   * @param bits of a weight
   */
  constructor(
    readonly graph: StoredGraph,
    readonly values: InferredValues,
    readonly bits: 7 | 8,
  ) {}

  add(layer: FloatLayer | LstmLayer): QuantizedLayer {
    return "w" in layer ? this.#recurrent(layer) : this.#product(layer);
  }

  /** DynamicQuantizeLSTM: ranges of x and h are its own. */
  #recurrent({ at, node, w, r }: LstmLayer): QuantizedLayer {
    const name = nameOf(node);
    const [x, , , b = "", lengths = "", h = "", c = ""] = node.inputs;
    const weights = [[node.inputs[1], w], [node.inputs[2], r]] as const;
    const defined = weights.map(([weight, floats]) =>
      this.#once([weight, "LSTM"], () => {
        const { bytes, scales } = lstmBytes(floats, this.bits);
        const dims = [floats.dims[0], floats.dims[1]];
        const zeros = new Int8Array(scales.length);
        return [
          this.#define(`${weight}_quantized`, bytes),
          this.#define(`${weight}_scale`, plainTensor("float32", dims, scales)),
          this.#define(
            `${weight}_zero_point`,
            plainTensor("int8", dims, zeros),
          ),
        ];
      })
    );
    const [[wBytes, ...wRange], [rBytes, ...rRange]] = defined;
    const attributes = this.graph.attributes(at).filter(([name]) =>
      name !== "layout"
    );
    this.replaced.set(at, [{
      op: "DynamicQuantizeLSTM",
      domain: CONTRIB_DOMAIN,
      name: this.#fresh(`${name}_DynamicQuantizeLSTM`),
      inputs: [x, wBytes, rBytes, b, lengths, h, c, "", ...wRange, ...rRange],
      outputs: node.outputs,
      copied: attributes.map(([, bytes]) =>
        bytesField(NODE_ATTRIBUTE, [bytes])
      ),
    }]);
    for (const [weight] of weights) this.#spare(weight);
    const elements = w.data.length + r.data.length;
    const outputs = w.dims[0] * w.dims[1];
    return {
      ...{ name, op: node.op, shape: w.dims },
      bytesBefore: 4 * elements,
      // A scale and a zero point for each output, of either.
      bytesAfter: elements + 2 * (4 + 1) * outputs,
    };
  }

  #product(layer: FloatLayer): QuantizedLayer {
    const { at, node, x, weight: { dims, data }, bias } = layer;
    const isConv = node.op === "Conv";
    const name = nameOf(node);
    const [result] = node.outputs;
    const fresh = (what: string) => this.#fresh(`${name}_${what}`);
    const [sums, floats, scale] = [
      fresh("sums"),
      fresh("float"),
      fresh("scale"),
    ];
    const scaled = bias === "" ? result : fresh("scaled");
    const { nodes, names: [bytes, xScale, xZero] } = this.#quantized(x);
    const [w, wScale] = this.#weight(layer);
    const made = (
      op: string,
      inputs: readonly string[],
      output: string,
      more: Partial<WrittenNode> = {},
    ): WrittenNode => {
      return { op, name: fresh(op), inputs, outputs: [output], ...more };
    };
    nodes.push(
      isConv
        ? made("ConvInteger", [bytes, w, xZero, this.#middle()], sums, {
          copied: this.graph.attributes(at).map(([, bytes]) =>
            bytesField(NODE_ATTRIBUTE, [bytes])
          ),
        })
        : made("MatMulInteger", [bytes, w, xZero], sums),
      made("Cast", [sums], floats, { ints: { to: FLOAT32 } }),
      made("Mul", [xScale, wScale], scale),
      made("Mul", [floats, scale], scaled),
    );
    if (bias !== "") {
      const added = isConv ? this.#channels(bias, dims.length) : bias;
      nodes.push(made("Add", [scaled, added], result));
    }
    this.replaced.set(at, nodes);
    this.#spare(node.inputs[1]);
    if (isConv) this.#spare(bias);
    const outputs = isConv || layer.isTurned ? dims[0] : dims[1];
    return {
      ...{ name, op: node.op, shape: dims },
      bytesBefore: 4 * data.length,
      bytesAfter: data.length + 4 * outputs,
    };
  }

  /** Bytes, scale and zero point of a value, and the node that makes them, unless there is one. */
  #quantized(x: string) {
    const nodes: WrittenNode[] = [];
    let names = this.#dynamic.get(x);
    if (names === undefined) {
      const fresh = (what: string) => this.#fresh(`${x}_${what}`);
      names = [fresh("quantized"), fresh("scale"), fresh("zero_point")];
      this.#dynamic.set(x, names);
      nodes.push({
        op: "DynamicQuantizeLinear",
        name: fresh("DynamicQuantizeLinear"),
        inputs: [x],
        outputs: names,
      });
    }
    return { nodes, names };
  }

  /** Names of a weight's bytes and scales. */
  #weight(layer: FloatLayer): readonly string[] {
    const { node, weight, outputs, isTurned } = layer;
    const name = node.inputs[1];
    const isConv = node.op === "Conv";
    return this.#once([name, isConv, isTurned], () => {
      // For long, ONNX Runtime had no ConvInteger of int8 weights.
      const { bytes, scales } = byteWeight(
        isTurned ? turned(weight) : weight,
        outputs,
        this.bits,
        isConv ? "uint8" : "int8",
      );
      const dims = isConv
        ? channelDims(scales.length, weight.dims.length)
        : [scales.length];
      return [
        this.#define(`${name}_quantized`, bytes),
        this.#define(`${name}_scale`, plainTensor("float32", dims, scales)),
      ];
    });
  }

  /** The zero point of all weights of convolutions. */
  #middle(): string {
    return this.#once(["zero point"], () => [
      this.#define("weight_zero_point", scalarOf("uint8", MIDDLE)),
    ])[0];
  }

  /** A bias of channels as what is added to images. */
  #channels(name: string, rank: number): string {
    return this.#once([name, rank], () => {
      const { data } = this.values.get(name)!.constant as PlainTensor<
        "float32"
      >;
      const dims = channelDims(data.length, rank);
      return [
        this.#define(`${name}_channels`, plainTensor("float32", dims, data)),
      ];
    })[0];
  }

  #once(
    of: readonly unknown[],
    make: () => readonly string[],
  ): readonly string[] {
    const key = JSON.stringify(of);
    const made = this.#shared.get(key) ?? make();
    this.#shared.set(key, made);
    return made;
  }

  #define(name: string, tensor: PlainTensor<WrittenType>): string {
    const own = this.#fresh(name);
    this.tensors.push([own, tensor]);
    return own;
  }

  /** A name that nothing has. */
  #fresh(name: string): string {
    const { names } = this.graph;
    let own = name;
    for (let i = 2; names.has(own); i++) own = `${name}_${i}`;
    names.add(own);
    return own;
  }

  #spare(name: string): void {
    if (name === "" || this.spared.has(name)) return;
    this.spared.add(name);
    const at = this.graph.producers.get(name);
    if (at === undefined) return;
    for (const input of this.graph.raw.nodes[at].inputs) this.#spare(input);
  }
}

function channelDims(count: number, rank: number): number[] {
  return [1, count, ...new Array<number>(rank - 2).fill(1)];
}

function turned(
  { dims: [n, k], data }: PlainTensor<"float32">,
): PlainTensor<"float32"> {
  const out = new Float32Array(data.length);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < k; j++) out[j * n + i] = data[i * k + j];
  }
  return plainTensor("float32", [k, n], out);
}
