/** Graphs that are attributes of an operator, run node after node with the values that they see from around. */
import { shorten } from "../base/describe.ts";
import type { PlainTensor, PlainType } from "../tensor/plain_tensor.ts";
import type {
  PlainAttributes,
  PlainContext,
  PlainOperator,
} from "./operator.ts";

/** A node as plain operators need it. */
export interface PlainNode {
  readonly name: string;
  readonly op: string;
  readonly domain: string;
  readonly version: number;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: PlainAttributes;
}

/** A graph as plain operators need it; every name has one origin, nodes are in an order in which they can run. */
export interface PlainGraph {
  readonly inputs: readonly { readonly name: string }[];
  readonly outputs: readonly {
    readonly name: string;
    readonly type: PlainType | null;
    readonly dims: readonly (number | string | null)[] | null;
  }[];
  readonly initializers: ReadonlyMap<string, PlainTensor>;
  readonly nodes: readonly PlainNode[];
}

/** Values by name. */
export type PlainValues = (name: string) => PlainTensor | undefined;

/** Runs an operator of a name. */
export type RunOperator = (
  name: string,
  ...given: Parameters<PlainOperator["run"]>
) => PlainTensor[];

const NAME_SHOWN = 60;

const quoted = (name: string) => `"${shorten(name, NAME_SHOWN)}"`;

/** What a node of a graph could not be run for; the message names the innermost node. */
export class NodeError extends RangeError {
  override name = "NodeError";
}

function fail({ name }: PlainNode, why: string, cause?: unknown): never {
  throw new NodeError(`node ${quoted(name)}: ${why}`, { cause });
}

/**
 * Runs a graph.
 * @param inputs by name
 * @param around values of the graphs around it
 * @returns outputs in the graph's order
 * @throws NodeError naming the node when it cannot be run; TypeError when an input is missing
 */
export function runGraph(
  graph: PlainGraph,
  inputs: ReadonlyMap<string, PlainTensor>,
  around: PlainValues,
  run: RunOperator,
): PlainTensor[] {
  const values = new Map(graph.initializers);
  for (const { name } of graph.inputs) {
    const given = inputs.get(name);
    if (!given) throw new TypeError(`Input ${quoted(name)} is missing`);
    values.set(name, given);
  }
  const valueOf: PlainValues = (name) => values.get(name) ?? around(name);
  for (const node of graph.nodes) {
    const results = runNode(
      node,
      node.inputs.map((name) => name === "" ? undefined : valueOf(name)),
      valueOf,
      run,
    );
    node.outputs.forEach((name, i) => {
      if (name === "") return;
      if (!results[i]) fail(node, `it has no output ${i}`);
      values.set(name, results[i]);
    });
  }
  return graph.outputs.map(({ name }) => {
    const value = valueOf(name);
    if (!value) throw new NodeError(`there is no value ${quoted(name)}`);
    return value;
  });
}

function runNode(
  node: PlainNode,
  inputs: readonly (PlainTensor | undefined)[],
  valueOf: PlainValues,
  run: RunOperator,
): PlainTensor[] {
  const { op, domain, version, attributes, outputs } = node;
  if (domain !== "") fail(node, `its domain is ${quoted(domain)}`);
  try {
    return run(op, inputs, attributes, {
      opset: version,
      outputs: outputs.length,
      ...graphsOf(attributes, valueOf, run),
    });
  } catch (error) {
    if (error instanceof NodeError) throw error;
    if (error instanceof RangeError || error instanceof TypeError) {
      return fail(node, error.message, error);
    }
    throw error;
  }
}

/** What runs an operator's graphs, and says what they declare. */
export function graphsOf(
  attributes: PlainAttributes,
  valueOf: PlainValues,
  run: RunOperator,
): Required<Pick<PlainContext, "runGraph" | "graphOutput">> {
  const bodyOf = (attribute: string): PlainGraph => {
    const found = attributes.get(attribute);
    if (found?.kind === "graph") return found.value as PlainGraph;
    throw new TypeError(`attribute ${attribute} is no graph`);
  };
  return {
    runGraph: (attribute, given) => {
      const body = bodyOf(attribute);
      const named = body.inputs.map(({ name }, i) => [name, given[i]] as const);
      return runGraph(body, new Map(named), valueOf, run);
    },
    graphOutput: (attribute, output) => {
      const found = bodyOf(attribute).outputs[output];
      if (!found) {
        throw new RangeError(`attribute ${attribute} has no output ${output}`);
      }
      return {
        type: found.type ?? "float32",
        dims: (found.dims ?? []).map((size) =>
          typeof size === "number" ? size : null
        ),
      };
    },
  };
}
