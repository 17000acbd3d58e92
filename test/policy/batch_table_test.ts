/** LazyBatching's BatchTable against a naive stack whose sums are worked out anew every time. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import {
  BatchTable,
  Member,
  SubBatch,
} from "../../src/policy/lazybatching/batch_table.ts";
import type { Request } from "../../src/policy/request.ts";
import { propertyRuns } from "../property_runs.ts";
import { staticChain } from "./static_chain.ts";

const MAX = 6;
/** A cell that recurs, so that members come apart. */
const model = staticChain({ cells: ["A", "B*", "C"] });

/** Entries from bottom to top: members with the index of their next node. */
interface Stack {
  entries: { member: Member; at: number }[][];
  next: number;
}

type Command = fc.Command<Stack, BatchTable>;

function nodesOf(member: Member): string[] {
  return member.request.graph.nodes.map(({ cell }) => cell.name);
}

/** Nodes take 5, 7 and 11; of a cell that recurs one step fewer is expected than there are. */
const NODE_NS = [5, 7, 11];

function expected(steps: number): number[] {
  return [1, steps - 1, 1];
}

/** What is left of the expected time before the node at an index: worked out anew. */
function leftAt(member: Member, at: number): number {
  const cells = ["A", "B", "C"];
  const left = expected(nodesOf(member).length - 2);
  for (const name of nodesOf(member).slice(0, at)) {
    const cell = cells.indexOf(name);
    left[cell] = Math.max(0, left[cell] - 1);
  }
  return left.reduce((sum, times, cell) => sum + times * NODE_NS[cell], 0);
}

/** Members in the naive stack and the table are the same, in the same order, at the same nodes. */
function assertEqual(stack: Stack, table: BatchTable): void {
  assert.deepEqual(
    table.entries.map(({ cell, members }) =>
      members.map(({ request, cursor }) => [cell.name, request.id, cursor])
    ),
    stack.entries.map((entry) =>
      entry.map((
        { member, at },
      ) => [nodesOf(member)[at], member.request.id, at])
    ),
  );
  let execNs = 0;
  let leftNs = 0;
  let limitNs = Infinity;
  table.entries.forEach((entry, i) => {
    for (const { member, at } of stack.entries[i]) {
      execNs += member.execNs;
      leftNs += leftAt(member, at);
      limitNs = Math.min(limitNs, member.limitNs);
    }
    assert.equal(entry.execBelowNs, execNs, "sum of times at and below");
    assert.equal(entry.leftBelowNs, leftNs, "what is left at and below");
    assert.equal(entry.limitBelowNs, limitNs, "least limit at and below");
  });
  assert.equal(table.rowsOf(model), stack.entries.flat().length);
}

class Push implements Command {
  constructor(
    readonly members: readonly (readonly [steps: number, limitNs: number])[],
  ) {}
  check = () => true;
  run(stack: Stack, table: BatchTable) {
    const members = this.members.map(([steps, limitNs]) => {
      const graph = new CellGraph(model);
      model.unfold({ steps }, graph);
      const request = { id: stack.next++, model, graph } as unknown as Request;
      const work = expected(steps);
      const execNs = work.reduce((sum, n, cell) => sum + n * NODE_NS[cell], 0);
      const member = new Member(request, {
        work,
        nodeNs: NODE_NS,
        execNs,
        extents: undefined,
      });
      member.limitNs = limitNs;
      return member;
    });
    const entry = new SubBatch(model, model.cells[0]);
    for (const member of members) entry.begin(member);
    table.push(entry);
    stack.entries.push(members.map((member) => ({ member, at: 0 })));
    assertEqual(stack, table);
  }
  toString = () => `push(${JSON.stringify(this.members)})`;
}

/**
 * The top executes a node; who is through leaves, others come apart where they must, the top two merge. One member
 * may be cancelled while the node runs.
 */
class RunNode implements Command {
  constructor(readonly cancelled?: number) {}
  check = ({ entries }: Stack) => entries.length > 0;
  run(stack: Stack, table: BatchTable) {
    const top = table.running = table.top!;
    const members = [...top.members];
    if (this.cancelled !== undefined) {
      new Leave(
        stack.entries.flat().length - members.length +
          this.cancelled % members.length,
      ).run(stack, table);
    }
    table.executed(members);
    if (top.members.length === 0) {
      table.advance();
      assertEqual(stack, table);
      return;
    }
    const ran = stack.entries.pop()!.map(({ member, at }) => ({
      member,
      at: at + 1,
    }));
    const through = ran.filter(({ member, at }) =>
      at === nodesOf(member).length
    );
    for (const { member } of through) table.remove(member);
    const order = ["C", "B", "A"];
    const apart = order.map((cell) =>
      ran.filter(({ member, at }) => nodesOf(member)[at] === cell)
    );
    stack.entries.push(...apart.filter((entry) => entry.length > 0));
    table.advance();
    assertEqual(stack, table);
    const merged = table.mergeTop(MAX);
    let expected: number[] | undefined;
    for (;;) {
      const { entries } = stack;
      const [below, above] = entries.slice(-2);
      if (!below || !above) break;
      const standsAt = ({ member, at }: Stack["entries"][0][0]) =>
        nodesOf(member)[at];
      if (standsAt(below[0]) !== standsAt(above[0])) break;
      if (below.length + above.length > MAX) break;
      entries.splice(-2, 2, [...below, ...above]);
      expected = above.map(({ member }) => member.request.id);
    }
    assert.deepEqual(merged?.map(({ request }) => request.id), expected);
    assertEqual(stack, table);
  }
  toString = () => `run(${this.cancelled ?? ""})`;
}

class Leave implements Command {
  constructor(readonly which: number) {}
  check = ({ entries }: Stack) => entries.length > 0;
  run(stack: Stack, table: BatchTable) {
    const all = stack.entries.flat();
    const { member } = all[this.which % all.length];
    table.remove(member);
    stack.entries = stack.entries.map((entry) =>
      entry.filter((other) => other.member !== member)
    ).filter((entry) => entry.length > 0);
    assertEqual(stack, table);
  }
  toString = () => `leave(${this.which})`;
}

Deno.test("BatchTable does what a naive stack does, and its running sums are those worked out anew", () => {
  const member = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.nat(50));
  const commands = fc.commands([
    fc.array(member, { minLength: 1, maxLength: 3 }).map((members) =>
      new Push(members)
    ),
    fc.constant(new RunNode()),
    fc.constant(new RunNode()),
    fc.nat(5).map((cancelled) => new RunNode(cancelled)),
    fc.nat(20).map((which) => new Leave(which)),
  ], { maxCommands: 40 });
  fc.assert(
    fc.property(commands, (commands) => {
      fc.modelRun(() => ({
        model: { entries: [], next: 0 },
        real: new BatchTable(),
      }), commands);
    }),
    { numRuns: propertyRuns(500) },
  );
});

Deno.test("sub-batches of two models that share their cells do not merge", () => {
  const table = new BatchTable();
  const models = [model, { ...model, name: "other" }];
  const members = models.map((model, id) => {
    const graph = new CellGraph(model);
    model.unfold({ steps: 1 }, graph);
    const request = { id, model, graph } as unknown as Request;
    const work = expected(1);
    const time = { work, nodeNs: NODE_NS, execNs: 16, extents: undefined };
    const member = new Member(request, time);
    const entry = new SubBatch(model, model.cells[0]);
    entry.begin(member);
    table.push(entry);
    return member;
  });
  assert.equal(table.mergeTop(MAX), undefined);
  for (const member of members) table.remove(member);
  for (const model of models) assert.equal(table.rowsOf(model), 0);
});
