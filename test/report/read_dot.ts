/**
 * Reads DOT text, as far as diagrams are written: one directed graph of node, edge and default statements with
 * attribute lists. Source: "DOT Language" in Graphviz's documentation.
 */
import assert from "node:assert/strict";

type Attributes = Readonly<Record<string, string>>;

/** A graph that was read. */
export interface DotGraph {
  readonly id: string;
  /** By statement: "graph", "node", "edge". */
  readonly defaults: Readonly<Record<string, Attributes>>;
  readonly nodes: ReadonlyMap<string, Attributes>;
  readonly edges: readonly {
    readonly from: string;
    readonly to: string;
    readonly attributes: Attributes;
  }[];
}

/** @throws AssertionError where the text is no graph of this kind */
export function readDot(text: string): DotGraph {
  const tokens = [
    ...text.matchAll(
      /\s+|"(?:[^"\\]|\\[^])*"|->|[{}[\];,=]|[A-Za-z_][A-Za-z_0-9]*|-?[0-9]+(?:\.[0-9]+)?|[^]/g,
    ),
  ].map(([token]) => token).filter((token) => token.trim() !== "");
  let at = 0;
  const take = (expected?: string): string => {
    const token = tokens[at++];
    assert(token !== undefined, "ends too early");
    if (expected !== undefined) assert.equal(token, expected);
    return token;
  };
  const id = (): string => {
    const token = take();
    if (token.startsWith('"')) {
      // The one escape of a quoted ID; labels keep those of their own.
      return token.slice(1, -1).replaceAll('\\"', '"');
    }
    assert.match(token, /^([A-Za-z_]\w*|-?[0-9.]+)$/);
    return token;
  };
  const attributes = (): Attributes => {
    const found: Record<string, string> = {};
    take("[");
    while (tokens[at] !== "]") {
      const name = id();
      take("=");
      found[name] = id();
      if (tokens[at] !== "]") take(",");
    }
    take("]");
    return found;
  };
  take("digraph");
  const graph = {
    id: id(),
    defaults: {} as Record<string, Attributes>,
    nodes: new Map<string, Attributes>(),
    edges: [] as DotGraph["edges"][number][],
  };
  take("{");
  while (tokens[at] !== "}") {
    const name = id();
    if (["graph", "node", "edge"].includes(name)) {
      graph.defaults[name] = attributes();
    } else if (tokens[at] === "->") {
      take("->");
      graph.edges.push({ from: name, to: id(), attributes: attributes() });
    } else {
      assert(!graph.nodes.has(name), `${name} is there twice`);
      graph.nodes.set(name, attributes());
    }
    take(";");
  }
  take("}");
  assert.equal(at, tokens.length, "something follows");
  for (const { from, to } of graph.edges) {
    assert(graph.nodes.has(from) && graph.nodes.has(to), `${from} -> ${to}`);
  }
  return graph;
}

/** Lines of a label as they are shown: \n is a new one, \\ a backslash. */
export function labelLines(label: string): string[] {
  const lines = [""];
  for (const [token] of label.matchAll(/\\[^]|[^]/g)) {
    if (token === "\\n") lines.push("");
    else if (token.length === 1) lines[lines.length - 1] += token;
    else {
      assert.equal(token, "\\\\", `an escape that is not written: ${token}`);
      lines[lines.length - 1] += "\\";
    }
  }
  return lines;
}
