/**
 * LazyBatching: sub-batches are preempted between two nodes so that new requests catch up and merge, as long as
 * the slack of everybody concerned allows it.
 * Source: Choi, Kim, Rhu, "LazyBatching: An SLA-aware Batching System for Cloud Machine Learning Inference"
 * (HPCA 2021), section IV. This file is section IV-B (Fig. 9); the BatchTable of Fig. 10 is batch_table.ts, section
 * IV-C slack.ts (Eq. 1, 2) and common/exec_time.ts (Algorithm 1), Oracle's predictor exact_slack.ts.
 * State: InfQ (pending inputs, by model), per worker a BatchTable (a stack, its top the active batch).
 * Invariant: merged sub-batches stand at the same node; a cell that recurs is one node, whatever the time step, as
 * it has the same weights.
 * Assumption: InfQ is served in order of arrival: the longest prefix of one model's requests that slack allows is
 * issued as one sub-batch.
 * Assumption: all sub-batches of a model in a table hold at most the maximum together; whoever could not merge has
 * no reason to preempt.
 * Assumption: the paper has one device; each further worker gets a BatchTable of its own.
 */
import { Fifo } from "../../base/fifo.ts";
import type { Model } from "../../graph/model.ts";
import { BatchTable, Member, SubBatch } from "./batch_table.ts";
import { exact } from "./exact_slack.ts";
import { execTime } from "../common/exec_time.ts";
import {
  type LazyOptions,
  type LazySettings,
  lazySettings,
} from "./lazy_options.ts";
import type { Note, Task } from "../launch.ts";
import { conservative, equation2, type SlackPredictor } from "./slack.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import type { Request } from "../request.ts";

/**
 * LazyBatching: sub-batches are preempted between two nodes so that new requests catch up and merge, as long as the
 * slack of everybody concerned, predicted conservatively, allows it. For models of shape "chain".
 * Source: Choi, Kim, Rhu, "LazyBatching: An SLA-aware Batching System for Cloud Machine Learning Inference"
 * (HPCA 2021), section IV, Fig. 8-10, Eq. 1 and 2, Algorithm 1.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example With a profile: what a batch of each cell takes, by its number of rows
 * ```ts
 * import assert from "node:assert/strict";
 * import { lazy, lstm } from "@shoal/core";
 *
 * const policy = lazy({
 *   profile: { lstm_step: [[1, 20_000], [64, 180_000]] }, // ns
 *   slaNs: 50e6,
 * });
 * assert.equal(policy.supports(lstm({ hidden: 4, vocabulary: 10 })), undefined);
 * ```
 */
export function lazy(options: LazyOptions = {}): Policy {
  const settings = lazySettings("lazy", options);
  return lazyBatching(
    settings,
    settings.elapsedTime === "charge" ? conservative : equation2,
  );
}

/**
 * LazyBatching with precise batch latencies: predicts slack from the profile's exact curves instead of sums of single
 * requests. For comparisons; options are those of `lazy`.
 * Source: LazyBatching, section VI ("Oracle").
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { LSTM_STEP_V100, oracle } from "@shoal/core/simulate";
 *
 * const policy = oracle({ profile: { "*": LSTM_STEP_V100 }, slaNs: 20e6 });
 * assert.equal(policy.name, "oracle");
 * ```
 */
export function oracle(options: LazyOptions = {}): Policy {
  const settings = lazySettings("oracle", options);
  return lazyBatching(settings, exact(settings.profile));
}

/** Its tag is its member of a sub-batch. */
type LazyRequest = Request<Member>;

/** The scheduler of Fig. 9, with either predictor. */
function lazyBatching(
  settings: LazySettings,
  predictor: SlackPredictor,
): Policy {
  const { batchSizeMax, emptyTable, negativeSlack, nestedPreemption } =
    settings;
  const infQ = new Map<Model, Fifo<Member>>();
  /** The same queues, the one with the oldest request first after `sortByAge`. */
  const queues: Fifo<Member>[] = [];
  const tables: BatchTable[] = [];
  let notes: Note[] = [];

  /** After a node: members stand at the next one, and sub-batches that stand at one node merge (Fig. 10). */
  function updateTable(table: BatchTable): void {
    table.advance();
    const merged = table.mergeTop(batchSizeMax);
    if (merged) note("merge", merged, `at node ${table.top!.cell.name}`);
  }

  /** Section IV-B: preempts the active batch for pending inputs, or lets it complete its execution uninterrupted. */
  function considerPending(table: BatchTable, nowNs: number): void {
    const { top: active } = table;
    if (active?.uninterrupted) return;
    if (!nestedPreemption && table.entries.length > 1) return;
    sortByAge(queues);
    for (const queue of queues) {
      const first = queue.first?.request;
      if (first === undefined) continue;
      const room = batchSizeMax - table.rowsOf(first.model);
      if (room <= 0) continue;
      const { pending, slackNs } = authorize(queue, room, { table, nowNs });
      const { members } = pending;
      if (members.length > 0) {
        for (let i = 0; i < members.length; i++) queue.shift();
        note(active ? "preempt" : "push", members, `slack ${slackNs} ns`);
        table.push(pending);
      } else {
        active!.uninterrupted = true;
        note("refuse", [queue.first!], `slack would be ${slackNs} ns`);
      }
      return;
    }
  }

  /**
   * The longest prefix of a queue, of at most `room`, that leaves nobody with negative slack: none when already the
   * first one would. With an empty table there is no active batch to protect: all of it, or (`emptyTable`) at least
   * the first one.
   * @returns the prefix, and the slack that it leaves or, when there is none, would leave
   */
  function authorize(
    queue: Fifo<Member>,
    room: number,
    { table, nowNs }: { table: BatchTable; nowNs: number },
  ): { pending: SubBatch; slackNs: number } {
    const { request: { model }, nextCell } = queue.first!;
    const isIdle = table.top === undefined;
    const allowed = isIdle ? (emptyTable === "issue" ? room : 1) : 0;
    let pending = new SubBatch(model, nextCell);
    let slackNs = Infinity;
    for (let n = 0; n < room; n++) {
      const member = queue.at(n);
      if (member?.nextCell !== nextCell) break;
      member.limitNs = limitNs(member, nowNs);
      pending.begin(member);
      const leftNs = predictor.slackNs(table, pending, nowNs);
      if (leftNs < 0 && n >= allowed) {
        const before = pending.members.slice(0, n);
        pending = new SubBatch(model, nextCell);
        for (const each of before) pending.begin(each);
        if (n === 0) slackNs = leftNs;
        break;
      }
      slackNs = leftNs;
    }
    return { pending, slackNs };
  }

  /** What the slack of a request that is issued now counts down from. */
  function limitNs({ request, execNs }: Member, nowNs: number): number {
    const { arrivalNs } = request;
    const slaNs = settings.slaNsOf(request);
    const aloneNs = slaNs - (nowNs - arrivalNs + execNs); // Eq. 1
    return aloneNs < 0 && negativeSlack === "ignore"
      ? Infinity
      : predictor.limitNs({ arrivalNs, slaNs }, nowNs);
  }

  function note(op: Note["op"], members: readonly Member[], why: string): void {
    notes.push({ op, requests: members.map(({ request }) => request.id), why });
  }

  return {
    name: settings.name,
    supports: ({ shape }) =>
      shape === "chain"
        ? undefined
        : "sub-batches catch up along a chain of nodes (LazyBatching, section IV-B); use cellular or merged",
    enqueue(request: LazyRequest) {
      const member = new Member(request, execTime(request, settings));
      request.tag = member;
      let queue = infQ.get(request.model);
      if (!queue) {
        infQ.set(request.model, queue = new Fifo());
        queues.push(queue);
      }
      queue.push(member);
    },
    schedule(view: EngineView): Decision {
      const worker = nextWorker(view);
      if (worker < 0) return IDLE;
      const table = tables[worker];
      notes = [];
      updateTable(table);
      considerPending(table, view.nowNs);
      updateTable(table);
      const top = table.running = table.top!;
      const nodes = top.members.map(({ request, cursor }) =>
        request.graph.nodes[cursor]
      );
      const why = top.uninterrupted
        ? "slack forbids more: the active batch completes uninterrupted"
        : "the topmost sub-batch's next node";
      return {
        kind: "launch",
        launch: {
          worker,
          steps: [{ cell: top.cell, nodes }],
          release: "step",
          why,
          notes,
        },
      };
    },
    completed({ worker, nodes }: Task<LazyRequest>) {
      tables[worker].executed(nodes.map(({ graph }) => graph.owner.tag));
    },
    ended({ model, tag: member }: LazyRequest) {
      if (member.table) member.table.remove(member);
      else infQ.get(model)?.delete(member);
    },
  };

  /** An idle worker that has something to do, one with an empty table first; -1 when there is none. */
  function nextWorker({ workers }: EngineView): number {
    let found = -1;
    let pending = false;
    for (const queue of queues) pending ||= queue.size > 0;
    for (const { id, queued } of workers) {
      if (queued > 0) continue;
      const { top } = tables[id] ??= new BatchTable();
      if (top === undefined && pending) return id;
      if (top !== undefined && found < 0) found = id;
    }
    return found;
  }
}

/** The queue with the oldest request first, empty ones last. */
function sortByAge(queues: Fifo<Member>[]): void {
  if (queues.length === 1) return;
  const age = ({ first }: Fifo<Member>) => first?.request.id ?? Infinity;
  queues.sort((a, b) => age(a) < age(b) ? -1 : 1);
}
