/** DVABatch's batch table and batch queues against a model that knows only how far every query has come. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Batch,
  type Item,
  type Query,
  QueryTable,
} from "../../src/policy/dvabatch/query_table.ts";
import { propertyRuns } from "../property_runs.ts";

const STAGES = 4;

/** Batches in order of creation, as ids of queries; and stages that each query has completed. */
interface Naive {
  batches: { ids: number[]; isFixed: boolean; createdNs: number }[];
  done: Map<number, number>;
  next: number;
  nowNs: number;
}

interface Real {
  table: QueryTable;
  pairs: number;
  /** What stages execute, with the queries that were handed to them. */
  running: { item: Item; stage: number; ids: number[] }[];
}

type Command = fc.Command<Naive, Real>;

function idsOf({ queries }: Batch): number[] {
  return queries.map(({ request }) => request.id);
}

/** Queries of an item. */
function part({ batch, start, num }: Item): number[] {
  return idsOf(batch).slice(start, start + num);
}

function arriving(naive: Naive, count: number): Query[] {
  return Array.from({ length: count }, () => {
    const id = naive.next++;
    naive.done.set(id, 0);
    return {
      request: { id } as Query["request"],
      batched: true,
      ended: false,
    };
  });
}

function assertEqual(
  { batches, done }: Naive,
  { table, running }: Real,
): void {
  const sorted = (rows: number[][]) => rows.sort((a, b) => a[0] - b[0]);
  assert.deepEqual(
    sorted(table.batches.map(idsOf)),
    sorted(batches.map(({ ids }) => [...ids])),
  );
  for (const batch of table.batches) {
    const progress = idsOf(batch).map((id) => done.get(id)!);
    for (let stage = 0; stage < STAGES; stage++) {
      assert.equal(
        batch.completed[stage],
        progress.filter((stages) => stages > stage).length,
        `status map of stage ${stage}`,
      );
    }
  }
  // Every query that is not through stands in one place: queued for its next stage, in it, or held behind.
  const standing: number[] = [];
  for (const { item, stage, ids } of running) {
    assert.deepEqual(part(item), ids, "what runs stays as it is");
    for (const id of ids) assert.equal(done.get(id), stage);
    standing.push(...ids);
  }
  table.queues.forEach((queue, stage) => {
    for (const item of queue) {
      for (const id of part(item)) {
        assert.equal(done.get(id), stage, "who is queued has come that far");
        standing.push(id);
      }
    }
  });
  table.held.forEach((items, stage) => {
    for (const item of items) {
      const ids = part(item);
      for (const id of ids) assert.equal(done.get(id), stage + 1);
      standing.push(...ids);
      assert(
        idsOf(item.batch).some((id) => done.get(id)! <= stage),
        "who is held has somebody to wait for",
      );
    }
  });
  const alive = [...done].filter(([, stages]) => stages < STAGES).map(([id]) =>
    id
  );
  assert.deepEqual(standing.sort((a, b) => a - b), alive.sort((a, b) => a - b));
}

class New implements Command {
  constructor(readonly count: number) {}
  check = () => true;
  run(naive: Naive, real: Real) {
    const queries = arriving(naive, this.count);
    naive.nowNs++;
    real.table.new(queries, naive.nowNs);
    naive.batches.push({
      ids: queries.map(({ request }) => request.id),
      isFixed: false,
      createdNs: naive.nowNs,
    });
    assertEqual(naive, real);
  }
  toString = () => `new(${this.count})`;
}

/** Only the latest batch, unless it came from a split or has begun its last stage. */
class Stretch implements Command {
  constructor(readonly count: number) {}
  check = ({ batches, done }: Naive) => {
    const latest = newest(batches);
    return latest !== undefined && !latest.isFixed &&
      latest.ids.every((id) => done.get(id)! < STAGES);
  };
  run(naive: Naive, real: Real) {
    const latest = newest(naive.batches)!;
    const batch = real.table.latest!;
    assert.deepEqual(idsOf(batch), latest.ids);
    const last = STAGES - 1;
    if (
      real.running.some(({ item, stage }) =>
        stage === last && item.batch === batch
      )
    ) return;
    const queries = arriving(naive, this.count);
    latest.ids.push(...queries.map(({ request }) => request.id));
    real.table.stretch(batch, queries);
    assertEqual(naive, real);
  }
  toString = () => `stretch(${this.count})`;
}

/** A stage takes the first of its queue. */
class Take implements Command {
  constructor(readonly stage: number) {}
  check = () => true;
  run(naive: Naive, real: Real) {
    const item = real.table.queues[this.stage].shift();
    if (item === undefined) return;
    if (item.pair < 0) item.batch.pairs.push(item.pair = real.pairs++);
    real.running.push({ item, stage: this.stage, ids: part(item) });
    assertEqual(naive, real);
  }
  toString = () => `take(${this.stage})`;
}

/** A stage has run what it took; what then goes on as a whole may be split. */
class Finish implements Command {
  constructor(readonly which: number, readonly split: boolean) {}
  check = () => true;
  run(naive: Naive, real: Real) {
    const { table, running } = real;
    if (running.length === 0) return;
    const [{ item, stage, ids }] = running.splice(
      this.which % running.length,
      1,
    ) as [Real["running"][0]];
    for (const id of ids) naive.done.set(id, stage + 1);
    const row = naive.batches.find((row) => row.ids.includes(ids[0]))!;
    const isWhole = row.ids.every((id) => naive.done.get(id)! > stage);
    const completed = table.complete(stage, item);
    if (stage === STAGES - 1) {
      assert.equal(completed, undefined);
      if (isWhole) naive.batches.splice(naive.batches.indexOf(row), 1);
      return assertEqual(naive, real);
    }
    assert.equal(completed !== undefined, isWhole);
    if (completed) this.#goOn(naive, real, { row, stage, out: completed.out });
    assertEqual(naive, real);
  }
  #goOn(
    naive: Naive,
    { table }: Real,
    { row, stage, out }: {
      row: Naive["batches"][0];
      stage: number;
      out: Item;
    },
  ) {
    if (!this.split || out.start > 0 || out.num === 1) {
      return table.push(stage + 1, out);
    }
    const sizes = [Math.ceil(out.num / 2), Math.floor(out.num / 2)];
    const children = table.split(stage, out, sizes);
    for (const child of children) table.push(stage + 1, child);
    assert(children.every(({ batch }) => batch.fixed));
    naive.batches.splice(
      naive.batches.indexOf(row),
      1,
      ...children.map((child) => ({
        ids: part(child),
        isFixed: true,
        createdNs: row.createdNs,
      })),
    );
  }
  toString = () => `finish(${this.which}${this.split ? ", split" : ""})`;
}

function newest(batches: Naive["batches"]): Naive["batches"][0] | undefined {
  let latest: Naive["batches"][0] | undefined;
  for (const batch of batches) {
    if (latest === undefined || batch.createdNs >= latest.createdNs) {
      latest = batch;
    }
  }
  return latest;
}

Deno.test("batch table and queues do what a model that knows every query's progress does", () => {
  const count = fc.integer({ min: 1, max: 4 });
  const stage = fc.nat(STAGES - 1);
  const commands = fc.commands([
    count.map((count) => new New(count)),
    count.map((count) => new Stretch(count)),
    stage.map((stage) => new Take(stage)),
    stage.map((stage) => new Take(stage)),
    fc.tuple(fc.nat(9), fc.boolean()).map(([which, split]) =>
      new Finish(which, split)
    ),
    fc.tuple(fc.nat(9), fc.boolean()).map(([which, split]) =>
      new Finish(which, split)
    ),
  ], { maxCommands: 60, size: "max" });
  fc.assert(
    fc.property(commands, (commands) => {
      fc.modelRun(() => ({
        model: { batches: [], done: new Map(), next: 0, nowNs: 0 },
        real: { table: new QueryTable(STAGES), pairs: 0, running: [] },
      }), commands);
    }),
    { numRuns: propertyRuns(1000) },
  );
});
