/** Names and order of a graph: every value has one origin, every node can run after those before it. */
import type { OnnxAttribute, OnnxGraph, OnnxNode } from "../ir.ts";
import { type Place, quoted } from "../place.ts";
import { checkAttributes } from "./check_attributes.ts";
import type { VersionedNode } from "./inline_functions.ts";
import type { RawAttribute, RawGraph } from "./raw_graph.ts";

/** Nodes of a circle that a message names. */
const CIRCLE_SHOWN = 6;

/** Names that a graph inside sees: what the file calls a value, and what it is called here. */
interface Scope {
  readonly names: ReadonlyMap<string, string>;
  readonly around: Scope | undefined;
}

/**
 * Makes graphs of what a file has, functions inlined. Every value has a name of its own: graphs inside nodes may use
 * names that others have, too, and get others then.
 */
export class GraphChecker {
  readonly #nodeNames = new Map<string, number>();
  readonly #valueNames = new Map<string, number>();
  readonly #constants: string[] = [];

  /** Inputs of the model that are taken as constants, since the file has values for them. */
  get constants(): readonly string[] {
    return this.#constants;
  }

  /** @throws OnnxError naming the node */
  model(raw: RawGraph, place: Place, irVersion: number): OnnxGraph {
    if (raw.outputs.length === 0) place.fail("its graph has no outputs");
    const outputs = new Set<string>();
    for (const { name } of raw.outputs) {
      if (outputs.has(name)) {
        place.fail(`there are two outputs ${quoted(name)}`);
      }
      outputs.add(name);
    }
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
    const nodes = (raw.nodes as readonly VersionedNode[]).map((node) => ({
      ...node,
      name: unique(
        node.name || `${node.op}:${node.outputs.find((name) => name) ?? ""}`,
        this.#nodeNames,
      ),
    }));
    const { names, origins } = this.#defined(raw, nodes, place);
    const scope = { names, around };
    const own = (name: string) => names.get(name) as string;
    const captured = new Set<string>();
    /** For each node, the nodes of this graph that run before it. */
    const before: number[][] = nodes.map(() => []);
    const use = (name: string, needs: number[]): string => {
      const origin = origins.get(name);
      if (origin === undefined) captured.add(name);
      else if (origin >= 0) needs.push(origin);
      return name;
    };
    const checked = nodes.map((node, i): OnnxNode => {
      const at = place.node(node);
      checkAttributes(node, at);
      const { name, op, domain, version } = node;
      const inputs = node.inputs.map((input) => {
        if (input === "") return "";
        const found = resolved(input, scope) ??
          at.fail(`its input ${quoted(input)} comes from nowhere`);
        return use(found, before[i]);
      });
      const attributes = new Map<string, OnnxAttribute>();
      for (const [name, attribute] of node.attributes) {
        const where = at.in(`attribute ${quoted(name)}`);
        const inner = (graph: RawGraph) => {
          const found = this.#graph(graph, where, scope);
          for (const outer of found.captured) use(outer, before[i]);
          return found;
        };
        attributes.set(name, checkedAttribute(attribute, inner));
      }
      const outputs = node.outputs.map((output) =>
        output === "" ? "" : own(output)
      );
      return { name, op, domain, version, inputs, outputs, attributes };
    });
    const outputs = raw.outputs.map((output) => {
      const found = resolved(output.name, scope) ??
        place.fail(`the output ${quoted(output.name)} comes from nowhere`);
      return { ...output, name: use(found, []) };
    });
    const initializers = new Map(
      raw.initializers.map(([name, tensor]) => [own(name), tensor]),
    );
    return {
      name: raw.name,
      inputs: raw.inputs.map((input) => ({ ...input, name: own(input.name) }))
        .filter(({ name }) => !initializers.has(name)),
      outputs,
      initializers,
      nodes: inOrder(checked, before, place),
      captured: [...captured],
      declared: new Map(raw.declared.map((value) => {
        const name = names.get(value.name) ?? value.name;
        return [name, { ...value, name }];
      })),
    };
  }

  /**
   * Names that a graph gives to values, each once.
   * @returns what they are called here, and by that the index of the node that they come from; -1 for others
   */
  #defined(
    raw: RawGraph,
    nodes: readonly OnnxNames[],
    place: Place,
  ): { names: Map<string, string>; origins: Map<string, number> } {
    const names = new Map<string, string>();
    const origins = new Map<string, number>();
    const define = (name: string, origin: number, what: () => Place) => {
      if (name === "") what().fail("it has no name");
      if (names.has(name)) {
        what().fail(`there is another value ${quoted(name)}`);
      }
      const called = unique(name, this.#valueNames);
      names.set(name, called);
      origins.set(called, origin);
    };
    for (const [name] of raw.initializers) {
      define(name, -1, () => place.in(`initializer ${quoted(name)}`));
    }
    const initializers = new Set(names.keys());
    const inputs = new Set<string>();
    for (const { name } of raw.inputs) {
      const what = () => place.in(`input ${quoted(name)}`);
      if (inputs.has(name)) what().fail("there are two of it");
      inputs.add(name);
      if (!initializers.has(name)) define(name, -1, what);
    }
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
    return { names, origins };
  }
}

/** What messages and names need of a node. */
type OnnxNames = Pick<OnnxNode, "name" | "op" | "outputs">;

/**
 * The name, or with a number behind where another has it.
 * @param taken names with the next number to try
 */
function unique(name: string, taken: Map<string, number>): string {
  let next = taken.get(name);
  let found = name;
  if (next !== undefined) {
    do found = `${name}#${next++}`; while (taken.has(found));
    taken.set(name, next);
  }
  taken.set(found, 2);
  return found;
}

function resolved(name: string, scope: Scope): string | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.around) {
    const found = at.names.get(name);
    if (found !== undefined) return found;
  }
  return undefined;
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
