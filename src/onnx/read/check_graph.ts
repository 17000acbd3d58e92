/** Names and order of a graph: every value has one origin, every node can run after those before it. */
import type { OnnxAttribute, OnnxGraph, OnnxNode, ValueInfo } from "../ir.ts";
import { type Place, quoted } from "../place.ts";
import type { VersionedNode } from "./inline_functions.ts";
import type { RawAttribute, RawGraph } from "./raw_graph.ts";

/** Nodes of a circle that a message names. */
const CIRCLE_SHOWN = 6;

/** Names that a graph inside sees. */
interface Scope {
  readonly names: ReadonlyMap<string, Origin>;
  readonly around: Scope | undefined;
}

/** Index of the node that a value is of; -1 for an input or initializer. */
type Origin = number;

/** Makes graphs of what a file has, functions inlined. */
export class GraphChecker {
  readonly #nodeNames = new Set<string>();
  readonly #constants: string[] = [];

  /** Inputs of the model that are taken as constants, since the file has values for them. */
  get constants(): readonly string[] {
    return this.#constants;
  }

  /** @throws OnnxError naming the node */
  model(raw: RawGraph, place: Place, irVersion: number): OnnxGraph {
    if (raw.outputs.length === 0) place.fail("its graph has no outputs");
    const graph = this.#graph(raw, place, undefined);
    // Up to version 3, initializers had to be inputs, too.
    if (irVersion >= 4) {
      this.#constants.push(
        ...raw.inputs.map(({ name }) => name).filter((name) =>
          graph.initializers.has(name)
        ),
      );
    }
    return graph;
  }

  #graph(raw: RawGraph, place: Place, around: Scope | undefined): OnnxGraph {
    const names = new Map<string, Origin>();
    const initializers = new Map(raw.initializers);
    const define = (name: string, origin: Origin, what: () => Place) => {
      if (name === "") what().fail("it has no name");
      if (names.has(name)) {
        what().fail(`there is another value ${quoted(name)}`);
      }
      names.set(name, origin);
    };
    for (const [name] of raw.initializers) {
      define(name, -1, () => place.in(`initializer ${quoted(name)}`));
    }
    const inputs = new Map<string, ValueInfo>();
    for (const input of raw.inputs) {
      const what = () => place.in(`input ${quoted(input.name)}`);
      if (inputs.has(input.name)) what().fail("there are two of it");
      inputs.set(input.name, input);
      if (!initializers.has(input.name)) define(input.name, -1, what);
    }
    const nodes = (raw.nodes as readonly VersionedNode[]).map((node) => ({
      ...node,
      name: this.#uniqueName(node),
    }));
    nodes.forEach((node, i) => {
      for (const output of node.outputs) {
        if (output === "") continue;
        define(
          output,
          i,
          () => place.node(node).in(`output ${quoted(output)}`),
        );
      }
    });
    const scope = { names, around };
    const captured = new Set<string>();
    /** Nodes that have to run before node i. */
    const before: number[][] = [];
    const checked = nodes.map((node) => {
      const at = place.node(node);
      const needs: number[] = [];
      before.push(needs);
      const use = (name: string, what: string) => {
        const origin = names.get(name);
        if (origin !== undefined) {
          if (origin >= 0) needs.push(origin);
        } else if (isVisible(name, around)) captured.add(name);
        else at.fail(`its ${what} ${quoted(name)} comes from nowhere`);
      };
      for (const name of node.inputs) if (name !== "") use(name, "input");
      const attributes = new Map<string, OnnxAttribute>();
      for (const [name, attribute] of node.attributes) {
        const where = at.in(`attribute ${quoted(name)}`);
        const inner = (graph: RawGraph) => {
          const found = this.#graph(graph, where, scope);
          for (const outer of found.captured) use(outer, "graph's value");
          return found;
        };
        attributes.set(name, checkedAttribute(attribute, inner));
      }
      const { op, domain, version, outputs } = node;
      return {
        name: node.name,
        op,
        domain,
        version,
        inputs: node.inputs,
        outputs,
        attributes,
      } satisfies OnnxNode;
    });
    for (const { name } of raw.outputs) {
      if (names.has(name)) continue;
      if (isVisible(name, around)) captured.add(name);
      else place.fail(`the output ${quoted(name)} comes from nowhere`);
    }
    return {
      name: raw.name,
      inputs: [...inputs.values()].filter(({ name }) =>
        !initializers.has(name)
      ),
      outputs: raw.outputs,
      initializers,
      nodes: inOrder(checked, before, place),
      captured: [...captured],
      declared: new Map(raw.declared.map((value) => [value.name, value])),
    };
  }

  #uniqueName({ name, op, outputs }: VersionedNode): string {
    const wished = name || `${op}:${outputs.find((output) => output) ?? ""}`;
    let unique = wished;
    for (let i = 2; this.#nodeNames.has(unique); i++) unique = `${wished}#${i}`;
    this.#nodeNames.add(unique);
    return unique;
  }
}

function isVisible(name: string, scope: Scope | undefined): boolean {
  for (let at = scope; at !== undefined; at = at.around) {
    if (at.names.has(name)) return true;
  }
  return false;
}

function checkedAttribute(
  attribute: RawAttribute,
  inner: (graph: RawGraph) => OnnxGraph,
): OnnxAttribute {
  switch (attribute.kind) {
    case "graph":
      return { kind: "graph", value: inner(attribute.value) };
    case "graphs":
      return { kind: "graphs", value: attribute.value.map(inner) };
    case "reference":
      throw new TypeError("a reference outlived its function");
  }
  return attribute;
}

/** Each node as soon as those before it have run, otherwise in the order given. */
function inOrder(
  nodes: readonly OnnxNode[],
  before: readonly (readonly number[])[],
  place: Place,
): OnnxNode[] {
  const ordered: OnnxNode[] = [];
  const [unseen, open, done] = [0, 1, 2];
  const states = new Uint8Array(nodes.length).fill(unseen);
  for (let start = 0; start < nodes.length; start++) {
    if (states[start] !== unseen) continue;
    // Without recursion: chains may be as long as the graph.
    const path = [{ node: start, next: 0 }];
    states[start] = open;
    while (path.length > 0) {
      const step = path[path.length - 1];
      const needed = before[step.node][step.next++];
      if (needed === undefined) {
        states[step.node] = done;
        ordered.push(nodes[step.node]);
        path.pop();
      } else if (states[needed] === open) {
        const circle = path.slice(
          path.findIndex(({ node }) => node === needed),
        ).map(({ node }) => quoted(nodes[node].name));
        place.node(nodes[needed]).fail(
          `it needs its own result, through ${
            circle.slice(0, CIRCLE_SHOWN).join(", ")
          }${circle.length > CIRCLE_SHOWN ? ", …" : ""}`,
        );
      } else if (states[needed] === unseen) {
        states[needed] = open;
        path.push({ node: needed, next: 0 });
      }
    }
  }
  return ordered;
}
