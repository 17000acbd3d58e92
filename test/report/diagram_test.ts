/** Diagrams as DOT and SVG: what comes out is what went in, whatever names are like. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import type { BoxKind, Diagram } from "../../src/report/diagram.ts";
import { svgOf } from "../../src/report/diagram_svg.ts";
import { dotOf } from "../../src/report/dot.ts";
import { elements } from "./page_checks.ts";
import { labelLines, readDot } from "./read_dot.ts";

const line = fc.oneof(
  fc.string({ maxLength: 20, unit: "grapheme" }),
  fc.constantFrom('"', "\\", "\\n", '\\"', "a -> b", "];", "<b>&amp;", "\n\t"),
);

const diagram: fc.Arbitrary<Diagram> = fc.record({
  title: line,
  boxes: fc.array(
    fc.record({
      kind: fc.constantFrom<BoxKind>("end", "static", "positions", "step"),
      lines: fc.array(line, { minLength: 1, maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 8 },
  ),
}).chain(({ title, boxes }) => {
  const place = fc.nat(boxes.length - 1);
  return fc.record({
    title: fc.constant(title),
    boxes: fc.constant(boxes),
    arrows: fc.array(
      fc.record({
        from: place,
        to: place,
        lines: fc.array(line, { maxLength: 3 }),
        dashed: fc.boolean(),
      }),
      { maxLength: 12 },
    ),
  });
});

/** Neither form has control characters. */
const shown = (lines: readonly string[]) =>
  // deno-lint-ignore no-control-regex -- control characters are what is not shown
  lines.map((text) => text.replace(/[\0-\x1f\x7f-\x9f]/g, " "));

Deno.test("DOT text has all boxes and arrows, whatever they are called", () => {
  fc.assert(fc.property(diagram, (given) => {
    const graph = readDot(dotOf(given));
    assert.deepEqual(labelLines(graph.id), shown([given.title]));
    assert.deepEqual(
      [...graph.nodes].map(([id, { label, peripheries, penwidth }]) => ({
        id,
        lines: labelLines(label),
        marks: [peripheries, penwidth],
      })),
      given.boxes.map(({ kind, lines }, i) => ({
        id: `b${i}`,
        lines: shown(lines),
        marks: [
          kind === "positions" ? "2" : undefined,
          kind === "step" ? "2" : undefined,
        ],
      })),
    );
    assert.deepEqual(
      graph.edges.map(({ from, to, attributes: { label, style } }) => ({
        ...{ from, to },
        lines: labelLines(label),
        style,
      })),
      given.arrows.map(({ from, to, lines, dashed }) => ({
        from: `b${from}`,
        to: `b${to}`,
        lines: lines.length === 0 ? [""] : shown(lines),
        style: dashed ? "dashed" : undefined,
      })),
    );
  }));
});

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Filled boxes, in order; the first is the paper. */
function boxesOf(svg: string): Box[] {
  return [...svg.matchAll(/<rect ([^>]*)\/>/g)]
    .filter(([, text]) => !text.includes('fill="none"'))
    .map(([, text]) => {
      const number = (name: string) =>
        Number(new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1] ?? 0);
      return {
        x: number("x"),
        y: number("y"),
        width: number("width"),
        height: number("height"),
      };
    });
}

Deno.test("an SVG file is well-formed, and no box lies over another one or leaves the paper", () => {
  fc.assert(fc.property(diagram, (given) => {
    const svg = svgOf(given);
    const names = elements(svg);
    const [paper, ...boxes] = boxesOf(svg);
    assert.equal(boxes.length, given.boxes.length);
    const lines = [...given.boxes, ...given.arrows].flatMap(({ lines }) =>
      lines
    );
    // The title is there as well.
    const texts = names.filter((name) => name === "text").length;
    assert.equal(texts, lines.length + 1);
    // The marker has a path of its own.
    const paths = names.filter((name) => name === "path").length;
    assert.equal(paths, given.arrows.length + 1);
    boxes.forEach((box, i) => {
      assert(box.x >= 0 && box.x + box.width <= paper.width);
      assert(box.y >= 0 && box.y + box.height <= paper.height);
      for (const other of boxes.slice(0, i)) {
        assert(
          box.x >= other.x + other.width || other.x >= box.x + box.width ||
            box.y >= other.y + other.height || other.y >= box.y + box.height,
          JSON.stringify([box, other]),
        );
      }
    });
    for (const { from, to } of given.arrows) {
      if (from < to) assert(boxes[from].y < boxes[to].y, "leads down");
    }
  }));
});

Deno.test("Graphviz reads DOT text", () => {
  const { error, status, stderr } = spawnSync("dot", ["-V"]);
  if (error !== undefined) {
    console.log("skipped: Graphviz's dot is not installed");
    return;
  }
  assert.equal(status, 0, `${stderr}`);
  fc.assert(
    fc.property(diagram, (given) => {
      const { status, stderr } = spawnSync("dot", ["-Tplain"], {
        input: dotOf(given),
      });
      assert.equal(status, 0, `${stderr}`);
    }),
    { numRuns: 10 },
  );
});
