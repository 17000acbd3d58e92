/**
 * Nodes that call a function of the model are replaced by the function's nodes (`FunctionProto`: "each
 * instance is equivalent to its body with inputs, outputs and attributes put in"), until none is left. Names inside
 * get the call in front.
 */
import { shorten } from "../../base/describe.ts";
import { type Place, quoted } from "../place.ts";
import { NESTING_MAX } from "./context.ts";
import type {
  RawAttribute,
  RawFunction,
  RawGraph,
  RawNode,
} from "./raw_graph.ts";

/**
 * Characters of names that inlining may make, of which each counts as some more for what it stands for. Functions
 * that call each other twice each double with every level: a file of a kilobyte becomes as large as one likes.
 */
const MADE_MAX = 64_000_000;
const NAME_COST = 64;

/** Characters of a caller's name that go in front of names. */
const PREFIX_SHOWN = 60;

/** A node with the version of its operator set. */
export interface VersionedNode extends RawNode {
  readonly version: number;
}

function keyOf(
  { domain, op, overload }: Pick<RawNode, "domain" | "op" | "overload">,
): string {
  return JSON.stringify([domain, op, overload]);
}

/** What a call puts in place of a function's names. */
interface Call {
  readonly values: ReadonlyMap<string, string>;
  readonly attributes: ReadonlyMap<string, RawAttribute>;
  /** In front of other names. */
  readonly prefix: string;
  /** Functions around it. */
  readonly stack: readonly string[];
  readonly opsets: ReadonlyMap<string, number>;
}

/** Inlines the functions of a model. */
export class FunctionInliner {
  readonly #functions = new Map<string, RawFunction>();
  #calls = 0;
  #made = 0;

  /**
   * @param opsets of the model
   * @param place of the model
   */
  constructor(
    functions: readonly RawFunction[],
    readonly opsets: ReadonlyMap<string, number>,
    readonly place: Place,
  ) {
    for (const called of functions) {
      const key = keyOf({ ...called, op: called.name });
      if (this.#functions.has(key)) {
        place.fail(`there are two functions ${quoted(called.name)}`);
      }
      this.#functions.set(key, called);
    }
  }

  /** @throws OnnxError when a function calls itself, or there is no end of nodes */
  graph(graph: RawGraph): RawGraph {
    return { ...graph, nodes: this.#nodes(graph.nodes, undefined) };
  }

  #nodes(
    nodes: readonly RawNode[],
    call: Call | undefined,
  ): VersionedNode[] {
    const out: VersionedNode[] = [];
    for (const node of nodes) {
      const given = this.#substituted(node, call);
      const called = this.#functions.get(keyOf(given));
      if (called === undefined) out.push(given);
      else {for (const inner of this.#inlined(given, called, call)) {
          out.push(inner);
        }}
    }
    return out;
  }

  /** A node with a call's names and attributes; calls in its graphs are inlined. */
  #substituted(node: RawNode, call: Call | undefined): VersionedNode {
    const place = this.place.node(node);
    const attributes = new Map<string, RawAttribute>();
    for (const [name, attribute] of node.attributes) {
      const at = place.in(`attribute ${quoted(name)}`);
      const found = this.#attribute(attribute, call, at);
      if (found !== undefined) attributes.set(name, found);
    }
    const version = (call?.opsets ?? this.opsets).get(node.domain) ??
      this.opsets.get(node.domain);
    if (version === undefined && !this.#functions.has(keyOf(node))) {
      place.fail(
        `the model names no version of the operators of domain ${
          quoted(node.domain)
        }`,
      );
    }
    if (call === undefined) {
      return { ...node, attributes, version: version ?? 0 };
    }
    return {
      ...node,
      name: this.#prefixed(call, node.name || node.op),
      inputs: node.inputs.map((name) => this.#value(call, name)),
      outputs: node.outputs.map((name) => this.#value(call, name)),
      attributes,
      version: version ?? 0,
    };
  }

  /** @returns undefined for what neither caller nor function say */
  #attribute(
    attribute: RawAttribute,
    call: Call | undefined,
    place: Place,
  ): RawAttribute | undefined {
    switch (attribute.kind) {
      case "graph":
        return { kind: "graph", value: this.#graph(attribute.value, call) };
      case "graphs":
        return {
          kind: "graphs",
          value: attribute.value.map((graph) => this.#graph(graph, call)),
        };
      case "reference": {
        if (call === undefined) {
          return place.fail("it refers to an attribute outside of a function");
        }
        const found = call.attributes.get(attribute.value);
        const { declared } = attribute;
        if (found && declared !== undefined && found.kind !== declared) {
          place.fail(
            `it is the caller's ${
              quoted(attribute.value)
            }, which is ${found.kind}, expected ${declared}`,
          );
        }
        return found;
      }
    }
    return attribute;
  }

  #graph(graph: RawGraph, call: Call | undefined): RawGraph {
    const nodes = this.#nodes(graph.nodes, call);
    if (call === undefined) return { ...graph, nodes };
    const renamed = <T extends { name: string }>(value: T): T => ({
      ...value,
      name: this.#value(call, value.name),
    });
    return {
      name: graph.name,
      inputs: graph.inputs.map(renamed),
      outputs: graph.outputs.map(renamed),
      declared: graph.declared.map(renamed),
      initializers: graph.initializers.map(([name, tensor]) =>
        [this.#value(call, name), tensor] as const
      ),
      nodes,
    };
  }

  #inlined(
    node: VersionedNode,
    called: RawFunction,
    around: Call | undefined,
  ): VersionedNode[] {
    const place = this.place.node(node);
    const key = keyOf(node);
    const stack = [...around?.stack ?? [], key];
    if (around?.stack.includes(key)) {
      place.fail(`the function ${quoted(called.name)} calls itself`);
    }
    if (stack.length > NESTING_MAX) {
      place.fail(`functions are nested deeper than ${NESTING_MAX}`);
    }
    for (const what of ["inputs", "outputs"] as const) {
      if (node[what].length > called[what].length) {
        place.fail(
          `it has ${node[what].length} ${what}, the function ${
            quoted(called.name)
          } ${called[what].length}`,
        );
      }
    }
    const values = new Map<string, string>();
    const passed: VersionedNode[] = [];
    called.inputs.forEach((name, i) => values.set(name, node.inputs[i] ?? ""));
    called.outputs.forEach((name, i) => {
      const output = node.outputs[i] ?? "";
      if (output === "") return;
      const input = values.get(name);
      if (input === undefined) values.set(name, output);
      // An output that is an input, or another output, too.
      else passed.push(this.#identity(node, input, output));
    });
    return [
      ...this.#nodes(called.nodes, {
        values,
        attributes: new Map([...called.defaults, ...node.attributes]),
        prefix: `${
          shorten(node.name || node.outputs[0] || node.op, PREFIX_SHOWN)
        }:${this.#calls++}/`,
        stack,
        opsets: called.opsets,
      }),
      ...passed,
    ];
  }

  #identity(
    { name, version }: VersionedNode,
    input: string,
    output: string,
  ): VersionedNode {
    return {
      name,
      op: "Identity",
      domain: "",
      overload: "",
      version: this.opsets.get("") ?? version,
      inputs: [input],
      outputs: [output],
      attributes: new Map(),
    };
  }

  #value(call: Call, name: string): string {
    if (name === "") return "";
    return call.values.get(name) ?? this.#prefixed(call, name);
  }

  #prefixed({ prefix }: Call, name: string): string {
    this.#made += NAME_COST + prefix.length + name.length;
    if (this.#made > MADE_MAX) {
      this.place.fail(
        "its functions, put in place of their calls, have no end",
      );
    }
    return prefix + name;
  }
}
