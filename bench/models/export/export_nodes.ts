/** Nodes of a request's cell graph as one ONNX graph for a batch of requests of the same shape. */
import type { Cache } from "../../../src/graph/cache.ts";
import type { Port } from "../../../src/graph/cell.ts";
import type {
  CellNode,
  NodeOutput,
  Source,
} from "../../../src/graph/cell_graph.ts";
import type { CacheRef, Value } from "../../../src/graph/operator.ts";
import type {
  ElementType,
  OnnxNode,
  PlainTensor,
} from "../../../test/kernels/equivalent.ts";
import {
  type AttentionForm,
  type CacheValues,
  type CellContext,
  exportOperator,
} from "./operators.ts";
import { OnnxWriter } from "./writer.ts";

/** Keys or values. */
export type CachePart = keyof CacheValues;

/** What an input of the graph stands for: a node's input, or what a cache of the request holds before. */
export type InputRole =
  | { kind: "port"; node: number; input: number; port: Port; length: number }
  | { kind: "cache"; cache: number; part: CachePart };

/** What an output of the graph is: a node's output, or what a cache holds behind. */
export type OutputRole =
  | { kind: "output"; source: NodeOutput }
  | { kind: "cache"; cache: number; part: CachePart };

/** An input or output; a size that is a text changes from run to run. */
export interface GraphValue<Role> {
  name: string;
  shape: readonly (number | string)[];
  type: ElementType;
  role: Role;
}

/** A graph, and what its inputs and outputs are to the request. `node` in roles: among the exported nodes. */
export interface ExportedGraph {
  nodes: readonly OnnxNode[];
  constants: readonly PlainTensor[];
  inputs: readonly GraphValue<InputRole>[];
  outputs: readonly GraphValue<OutputRole>[];
}

/** Options of {@linkcode exportNodes}. */
export interface ExportOptions {
  /** Requests of the batch. */
  batch: number;
  /** Outputs of nodes that are wanted. */
  wanted: readonly NodeOutput[];
  /** Whether what the caches hold behind is wanted, of those that nodes append to. */
  caches: boolean;
  attention: AttentionForm;
}

/**
 * Exports nodes of one graph, in order. What they read of other nodes, of the request's data and of caches filled
 * before becomes an input of its own for each node that reads it.
 * @throws {RangeError} on an operator, or a form of one, that is not written as ONNX here
 */
export function exportNodes(
  nodes: readonly CellNode[],
  { batch, wanted, caches, attention }: ExportOptions,
): ExportedGraph {
  const writer = new OnnxWriter();
  const inputs: GraphValue<InputRole>[] = [];
  const made = new Map<CellNode, readonly string[]>();
  const filled = new Map<Cache<CellNode>, CacheValues>();
  const appended = new Set<Cache<CellNode>>();
  const indexOf = (cache: Cache<CellNode>) => {
    const [{ graph }] = nodes;
    return graph.caches.indexOf(cache);
  };

  const input = (
    name: string,
    shape: GraphValue<InputRole>["shape"],
    type: ElementType,
    role: InputRole,
  ): string => {
    inputs.push({ name, shape, type, role });
    return name;
  };

  /** An output of an exported node; one token of it as a row. */
  const outputName = (
    { node, port, token }: NodeOutput,
  ): string | undefined => {
    const name = made.get(node)?.[port];
    return name === undefined || token === undefined
      ? name
      : writer.one("Gather", [name, writer.index(token)], { axis: 1 });
  };

  const sourceName = (source: Source, at: number, i: number): string => {
    const { cell: { inputs: ports, tokensMax }, length } = nodes[at];
    const port = ports[i];
    const name = source.kind === "node" ? outputName(source) : undefined;
    if (name !== undefined && source.kind === "node") {
      const { image } = source.node.cell.outputs[source.port];
      if ((image === undefined) !== (port.image === undefined)) {
        throw new RangeError("A row read as an image, or an image as a row");
      }
      return name;
    }
    const tokens = tokensMax === undefined ? undefined : length;
    return input(
      `node${at}_input${i}`,
      shapeOf(port, batch, tokens),
      typeOf(port),
      { kind: "port", node: at, input: i, port, length },
    );
  };

  /** What a cache of the request holds; an input of the graph if that is from before. */
  const cacheOf = (node: CellNode, ref: CacheRef): CacheValues | undefined => {
    const { cache, position } = node.caches[ref.index];
    const known = filled.get(cache);
    if (known !== undefined || position === 0) return known;
    const index = indexOf(cache);
    const part = (part: CachePart, width: number) =>
      input(`cache${index}_${part}`, [batch, `past${index}`, width], "f32", {
        ...{ kind: "cache", cache: index, part },
      });
    const values = {
      key: part("key", cache.keyWidth),
      value: part("value", cache.valueWidth),
    };
    filled.set(cache, values);
    return values;
  };

  nodes.forEach((node, at) => {
    const { cell, length } = node;
    const names = new Map<number, string>();
    cell.inputs.forEach((_, i) =>
      names.set(i, sourceName(node.inputs[i], at, i))
    );
    const local = new Map<number, CacheValues>();
    const context: CellContext = {
      ...{ writer, batch, attention },
      tokens: cell.tokensMax === undefined ? undefined : length,
      of: ({ id }: Value) => names.get(id)!,
      cache: (ref) =>
        ref.kind === "local" ? local.get(ref.index) : cacheOf(node, ref),
      setCache(ref, values) {
        if (ref.kind === "local") {
          local.set(ref.index, values);
          return;
        }
        const { cache } = node.caches[ref.index];
        filled.set(cache, values);
        appended.add(cache);
      },
    };
    for (const operator of cell.operators) {
      const outputs = exportOperator(operator, context);
      operator.outputs.forEach(({ id }, i) => names.set(id, outputs[i]));
    }
    made.set(node, cell.results.map(({ id }) => names.get(id)!));
  });

  const outputs: GraphValue<OutputRole>[] = [];
  const taken = new Set(inputs.map(({ name }) => name));
  /** A value is an output under its own name, unless it is an input, or is one already. */
  const output = (
    from: string,
    shape: GraphValue<OutputRole>["shape"],
    type: ElementType,
    role: OutputRole,
  ) => {
    const name = taken.has(from) ? writer.one("Identity", [from]) : from;
    taken.add(name);
    outputs.push({ name, shape, type, role });
  };
  for (const source of wanted) {
    const { node: { cell, length }, port: index, token } = source;
    const port = cell.outputs[index];
    const from = outputName(source);
    if (from === undefined) throw new RangeError("Wanted of no exported node");
    const tokens = cell.tokensMax === undefined || token !== undefined
      ? undefined
      : length;
    output(from, shapeOf(port, batch, tokens), typeOf(port), {
      ...{ kind: "output", source },
    });
  }
  for (const cache of caches ? appended : []) {
    const index = indexOf(cache);
    for (const part of ["key", "value"] as const) {
      const width = part === "key" ? cache.keyWidth : cache.valueWidth;
      output(
        filled.get(cache)![part],
        [batch, `present${index}`, width],
        "f32",
        {
          ...{ kind: "cache", cache: index, part },
        },
      );
    }
  }
  return { nodes: writer.nodes, constants: writer.constants, inputs, outputs };
}

/** @throws {RangeError} on a type that is not exported */
function typeOf({ name, dtype }: Port): "f32" | "i32" {
  if (dtype === "f32" || dtype === "i32") return dtype;
  throw new RangeError(`Port "${name}" of ${dtype} is not exported`);
}

function shapeOf(
  { dtype, width, image }: Port,
  batch: number,
  tokens: number | undefined,
): number[] {
  const lead = tokens === undefined ? [batch] : [batch, tokens];
  if (dtype === "i32") return width === 1 ? lead : [...lead, width];
  if (image === undefined) return [...lead, width];
  return [batch, image.channels, image.height, image.width];
}
