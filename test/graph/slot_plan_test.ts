import assert from "node:assert/strict";
import fc from "fast-check";
import { cacheBytes } from "../../src/graph/cache.ts";
import type { Cell } from "../../src/graph/cell.ts";
import {
  defineCell,
  f32,
  type PortSpec,
} from "../../src/graph/cell_builder.ts";
import {
  CellGraph,
  type CellNode,
  type NodeOutput,
  type Source,
} from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import {
  alignUp,
  SLOT_HEADER_BYTES,
  SlotPlan,
} from "../../src/graph/slot_plan.ts";
import { gnmt } from "../../src/models/gnmt.ts";
import { lstm } from "../../src/models/lstm.ts";
import { resnet50 } from "../../src/models/resnet.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { unet } from "../../src/models/unet.ts";
import { propertyRuns } from "../property_runs.ts";

/** Width of the rows that nodes hand on. */
const WIDTH = 5;

const cells = new Map<string, Cell>();
/** The same, as the list that a model has. */
const listed: Cell[] = [];

/** A cell that reads `arity` rows and writes one of WIDTH and, unless 0, one of `extra`. */
function cellOf(arity: number, extra: number): Cell {
  const name = `${arity} to ${extra}`;
  let cell = cells.get(name);
  if (cell === undefined) {
    cell = defineCell<string, string>({
      name,
      inputs: Object.fromEntries(
        Array.from(
          { length: arity },
          (_, i): [string, PortSpec] => [`x${i}`, f32(WIDTH)],
        ),
      ),
      body: (op) => ({
        y: op.Constant(new Array<number>(WIDTH).fill(0)),
        ...(extra > 0 && { z: op.Constant(new Array<number>(extra).fill(0)) }),
      }),
    });
    cells.set(name, cell);
    listed.push(cell);
  }
  return cell;
}

interface Row {
  readonly what: string;
  readonly start: number;
  readonly end: number;
  /** Undefined for what the request brings along. */
  readonly node: CellNode | undefined;
  readonly kept: boolean;
}

function rowsOf(graph: CellGraph): Row[] {
  const rows: Row[] = [{
    what: "the header",
    start: 0,
    end: SLOT_HEADER_BYTES,
    node: undefined,
    kept: true,
  }];
  graph.inputs.forEach(({ data, offset }, i) =>
    rows.push({
      what: `input ${i}`,
      start: offset,
      end: offset + data.byteLength,
      node: undefined,
      kept: true,
    })
  );
  graph.caches.forEach((cache, i) =>
    rows.push({
      what: `cache ${i}`,
      start: cache.offset,
      end: cache.offset + cacheBytes(cache, cache.positions).all,
      node: undefined,
      kept: true,
    })
  );
  for (const node of graph.nodes) {
    node.offsets.forEach((start, port) =>
      rows.push({
        what: `output ${port} of node ${node.index}`,
        start,
        end: start + 4 * node.length * node.cell.outputs[port].width,
        node,
        kept: node.keptPorts.includes(port),
      })
    );
  }
  return rows;
}

/** Nodes that have run before a node starts, in every legal order. */
function ancestors(node: CellNode, known: Map<CellNode, Set<CellNode>>) {
  let found = known.get(node);
  if (found === undefined) {
    found = new Set(node.predecessors);
    for (const before of node.predecessors) {
      for (const earlier of ancestors(before, known)) found.add(earlier);
    }
    known.set(node, found);
  }
  return found;
}

/** Whether `row` was written and read by all its readers before `later` runs, in every legal order. */
function isOver(
  row: Row,
  later: Row,
  known: Map<CellNode, Set<CellNode>>,
): boolean {
  if (row.kept || row.node === undefined || later.node === undefined) {
    return false;
  }
  const before = ancestors(later.node, known);
  return before.has(row.node) &&
    row.node.successors.every((reader) => before.has(reader));
}

function assertNoOverlap(graph: CellGraph, bytes: number): void {
  const rows = rowsOf(graph);
  const known = new Map<CellNode, Set<CellNode>>();
  rows.forEach((a, i) => {
    assert(a.start % 16 === 0, `${a.what} is aligned`);
    assert(a.end <= bytes, `${a.what} ends at ${a.end} of ${bytes}`);
    for (const b of rows.slice(0, i)) {
      if (a.end <= b.start || b.end <= a.start) continue;
      assert(
        isOver(a, b, known) || isOver(b, a, known),
        `${a.what} and ${b.what} share bytes and may be alive at once`,
      );
    }
  });
}

const anyNode = fc.record({
  /** How far back its inputs are; 0 is the node before. */
  reads: fc.array(fc.oneof(fc.nat(3), fc.nat(20)), { maxLength: 3 }),
  extra: fc.constantFrom(0, 1, 5, 9),
  keep: fc.constantFrom(0, 0, 0, 1, 2),
});

function unfolded(
  nodes: readonly {
    reads: readonly number[];
    extra: number;
    keep: number;
  }[],
): CellGraph {
  const graph = new CellGraph({ name: "random", cells: listed });
  graph.rows([1, 2, 3]);
  nodes.forEach(({ reads, extra, keep }, i) => {
    const from = i === 0 ? [] : reads;
    const inputs = Object.fromEntries(
      from.map((back, k): [string, Source] => [
        `x${k}`,
        graph.output(graph.nodes[Math.max(0, i - 1 - back)], "y"),
      ]),
    );
    const node = graph.node(cellOf(from.length, extra), inputs);
    if (keep === 1) graph.collect("y", graph.output(node, "y"));
    if (keep === 2 && extra > 0) {
      graph.collect(`z${extra}`, graph.output(node, "z"));
    }
  });
  return graph;
}

Deno.test("SlotPlan never lets two rows share bytes that are alive at once in some legal order", () => {
  fc.assert(
    fc.property(
      fc.array(anyNode, { minLength: 1, maxLength: 30, size: "max" }),
      (nodes) => {
        const graph = unfolded(nodes);
        assertNoOverlap(graph, new SlotPlan(graph).bytes);
      },
    ),
    { numRuns: propertyRuns(500) },
  );
});

Deno.test("SlotPlan keeps a chain in two buffers, whatever its length", () => {
  const unfold = (length: number): CellGraph => {
    const model = lstm({ hidden: 7, vocabulary: 3 });
    const graph = new CellGraph(model);
    model.unfold({ tokens: new Array<number>(length).fill(1) }, graph);
    return graph;
  };
  const graph = unfold(40);
  const plan = new SlotPlan(graph);
  assertNoOverlap(graph, plan.bytes);
  const states = new Set(
    graph.nodes.slice(0, -1).map(({ offsets }) => offsets.join()),
  );
  assert.equal(states.size, 2);
  const longer = unfold(400);
  assert.equal(
    new SlotPlan(longer).bytes - plan.bytes,
    4 * (400 - 40),
    "only the ids take more room",
  );
});

Deno.test("SlotPlan reuses a tree's rows: fewer than it has nodes", () => {
  const model = treeLstm({ hidden: 4, vocabulary: 3 });
  const graph = new CellGraph(model);
  type Tree = number | Tree[];
  const balanced = (depth: number): Tree =>
    depth === 0 ? 1 : [balanced(depth - 1), balanced(depth - 1)];
  model.unfold({ tree: balanced(6) }, graph);
  const plan = new SlotPlan(graph);
  assertNoOverlap(graph, plan.bytes);
  const rows = new Set(graph.nodes.flatMap(({ offsets }) => offsets));
  assert(rows.size < 0.9 * 2 * graph.nodes.length, `${rows.size} rows`);
});

Deno.test("SlotPlan gives an image network's maps room once, shortcuts and skips for as long as they are read", () => {
  const models = [
    resnet50({ size: 64, width: 2, classes: 3 }),
    unet({ size: 64, base: 2, padding: "same" }),
  ];
  for (const model of models) {
    const { height, width, channels } = model.image!;
    const graph = new CellGraph(model);
    model.unfold({ image: new Float32Array(height * width * channels) }, graph);
    const { bytes } = new SlotPlan(graph);
    assertNoOverlap(graph, bytes);
    const maps = rowsOf(graph).filter(({ node }) => node !== undefined)
      .reduce((sum, { start, end }) => sum + end - start, 0);
    const used = bytes - graph.inputs[0].data.byteLength;
    assert(used < 0.4 * maps, `${model.name}: ${used} of ${maps} bytes`);
  }
});

/** Grows a graph to its limit as the engine does: a node's successors, then their places. */
function grown(
  model: Model,
  input: unknown,
): { graph: CellGraph; bytes: number } {
  const graph = new CellGraph(model);
  model.unfold(input, graph);
  const plan = new SlotPlan(graph);
  for (let step = 1; step < graph.stepsMax; step++) {
    const before = graph.nodes.length;
    model.grow!(graph.nodes[before - 1], graph);
    for (const node of graph.nodes.slice(before)) plan.place(node);
  }
  return { graph, bytes: plan.bytes };
}

Deno.test("SlotPlan leaves room for all that a growing graph may still need", () => {
  fc.assert(
    fc.property(
      fc.record({
        rnn: fc.constantFrom("lstm" as const, "gru" as const),
        hidden: fc.integer({ min: 1, max: 9 }),
        source: fc.integer({ min: 1, max: 6 }),
        maxSteps: fc.integer({ min: 1, max: 60 }),
      }),
      ({ rnn, hidden, source, maxSteps }) => {
        const model = seq2seq({ rnn, hidden, sourceVocabulary: 4 });
        const tokens = new Array<number>(source).fill(0);
        const { graph, bytes } = grown(model, { tokens, maxSteps });
        assert.equal(graph.nodes.length, source + maxSteps);
        assertNoOverlap(graph, bytes);
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("SlotPlan keeps what growing steps of many cells still read", () => {
  fc.assert(
    fc.property(
      fc.record({
        variant: fc.constantFrom("gnmt" as const, "gnmt-v2" as const),
        layers: fc.integer({ min: 2, max: 4 }),
        source: fc.integer({ min: 1, max: 5 }),
        maxSteps: fc.integer({ min: 1, max: 9 }),
      }),
      ({ variant, layers, source, maxSteps }) => {
        const model = gnmt({
          variant,
          layers,
          hidden: 3,
          sourceVocabulary: 4,
          tokensMax: 9,
        });
        const tokens = new Array<number>(source).fill(0);
        const { graph, bytes } = grown(model, { tokens, maxSteps });
        assertNoOverlap(graph, bytes);
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});

/** A growing chain that keeps rows of the given widths at every step. */
function keeping(widths: readonly number[], declared: number): Model<number> {
  const cell = defineCell<string, string>({
    name: "keeps",
    recurrent: true,
    inputs: { x: f32(WIDTH) },
    body: (op, { x }) => ({
      y: op.Relu(x),
      id: op.ArgMax(x),
      ...Object.fromEntries(
        widths.map((width, i) => [
          `k${i}`,
          op.Constant(new Array<number>(width).fill(0)),
        ]),
      ),
    }),
    stop: { output: "id", token: null },
  });
  const step = (graph: CellGraph, x: Source): void => {
    const node = graph.node(cell, { x });
    widths.forEach((_, i) =>
      graph.collect(`k${i}`, graph.output(node, `k${i}`))
    );
  };
  return {
    name: "keeper",
    cells: [cell],
    shape: "chain",
    check() {},
    unfold(steps, graph) {
      step(graph, graph.zeros(WIDTH));
      graph.grows(steps, declared);
    },
    grow: (node, graph) =>
      step(graph, graph.output(node, "y") satisfies NodeOutput),
  };
}

Deno.test("SlotPlan has room for as many elements per step as the model declares, however many rows they are", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 5 }),
      fc.integer({ min: 1, max: 80 }),
      (widths, steps) => {
        const declared = widths.reduce((sum, width) => sum + width, 0);
        const { graph, bytes } = grown(keeping(widths, declared), steps);
        assertNoOverlap(graph, bytes);
      },
    ),
    { numRuns: propertyRuns(100), examples: [[[1, 1, 1], 80]] },
  );
});

Deno.test("SlotPlan names the model that keeps more than it declared", () => {
  assert.throws(() => grown(keeping([40, 40], 1), 80), {
    name: "RangeError",
    message:
      /Model "keeper" keeps more than the 1 elements per step it declared; pass the number to graph\.grows/,
  });
});

Deno.test("SlotPlan keeps a row that is a result, and no other one of a cell with more rows than a word has bits", () => {
  const names = Array.from({ length: 70 }, (_, i) => `h${i}`);
  const cell = defineCell<string, string>({
    name: "wide",
    inputs: { x: f32(1) },
    body: (op, { x }) => ({
      id: op.ArgMax(x),
      ...Object.fromEntries(names.map((name) => [name, op.Tanh(x)])),
    }),
    recurrent: true,
    phase: "decoder",
    stop: { output: "id", token: null },
  });
  const step = (graph: CellGraph, x: Source): void => {
    const node = graph.node(cell, { x });
    graph.collect("ids", graph.output(node, "id"));
    assert.deepEqual(node.keptPorts, [0]);
  };
  const { graph, bytes } = grown({
    name: "wide",
    cells: [cell],
    shape: "chain",
    check() {},
    unfold(steps, graph) {
      step(graph, graph.zeros(1));
      graph.grows(steps);
    },
    grow: (node, graph) => step(graph, graph.output(node, "h69")),
  }, 80);
  assertNoOverlap(graph, bytes);
});

Deno.test("alignUp() rounds up to 16 bytes over the whole address space", () => {
  assert.deepEqual([0, 1, 16, 17].map(alignUp), [0, 16, 16, 32]);
  assert.equal(alignUp(2 ** 31 + 1), 2 ** 31 + 16);
  assert.equal(alignUp(2 ** 32 + 15), 2 ** 32 + 16);
});
