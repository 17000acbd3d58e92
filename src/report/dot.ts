/**
 * Diagrams in Graphviz's language. Source: "DOT Language" and "escString" in Graphviz's documentation: a double-quoted
 * ID has one escape, \", and a label's own (\n, \N, ...) begin with a backslash, so that one of a name is doubled.
 */
import {
  BOX_COLORS,
  type Diagram,
  type DiagramBox,
  plainLine,
} from "./diagram.ts";

/** A diagram as DOT text: nodes b0, b1, ... by place, with labels. */
export function dotOf({ title, boxes, arrows }: Diagram): string {
  const label = (lines: readonly string[]) => quoted(lines, "\\n");
  return [
    `digraph ${quoted([title])} {`,
    `  graph [rankdir=TB, fontname="Helvetica", labelloc=t, label=${
      label([title])
    }];`,
    `  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=11];`,
    `  edge [fontname="Helvetica", fontsize=9];`,
    ...boxes.map((box, i) => `  b${i} [${attributesOf(box)}];`),
    ...arrows.map(({ from, to, lines, dashed }) =>
      `  b${from} -> b${to} [label=${label(lines)}${
        dashed ? ", style=dashed" : ""
      }];`
    ),
    "}",
  ].join("\n");
}

function attributesOf({ kind, lines }: DiagramBox): string {
  const { fill, line } = BOX_COLORS[kind];
  return [
    `label=${quoted(lines, "\\n")}`,
    `fillcolor="${fill}"`,
    `color="${line}"`,
    // Told apart without colours, too.
    ...(kind === "positions" ? ["peripheries=2"] : []),
    ...(kind === "step" ? ["penwidth=2"] : []),
    ...(kind === "end" ? [`style="filled"`] : []),
  ].join(", ");
}

function quoted(lines: readonly string[], between = ""): string {
  const escaped = lines.map((line) =>
    plainLine(line).replaceAll("\\", "\\\\").replaceAll('"', '\\"')
  );
  return `"${escaped.join(between)}"`;
}
