/**
 * LazyBatching: sub-batches are preempted between two nodes so that new requests catch up and merge,
 * as long as the slack of everybody concerned allows it. `oracle` predicts slack from the exact curves.
 * Source: Choi, Kim, Rhu, "LazyBatching: An SLA-aware Batching System for Cloud Machine Learning
 * Inference" (HPCA 2021), section IV, Fig. 8-10, Eq. 1 and 2, Algorithm 1.
 * State: InfQ (waiting requests by model), per worker a BatchTable (a stack, its top runs).
 * Invariant: merged sub-batches stand at the same node; a cell that recurs is one node, whatever the
 * time step, as it has the same weights.
 * Assumption: all sub-batches of a model in a table hold at most the maximum together; whoever could
 * not merge has no reason to preempt.
 * Assumption: InfQ is served in order of arrival: the longest prefix of one model's requests that slack
 * allows enters as one sub-batch. With an empty table the first one enters whatever its slack.
 * Assumption: the paper has one device; each further worker gets a BatchTable of its own.
 */
import { describe } from "../../base/describe.ts";
import { Fifo } from "../../base/fifo.ts";
import type { Model } from "../../graph/model.ts";
import { BatchTable, Member, SubBatch } from "./batch_table.ts";
import {
  expectedExtents,
  expectedWork,
  singleInputExecNs,
} from "./exec_time.ts";
import type { Note, Task } from "../launch.ts";
import {
  flag,
  knownOptions,
  nonNegative,
  positiveInteger,
} from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import { type Profile, profileOf, type ProfileTable } from "../profile.ts";
import type { Request } from "../request.ts";
import { conservative, exact, type SlackPredictor } from "./slack.ts";

/** Its tag is its member of a sub-batch. */
type LazyRequest = Request<Member>;

/**
 * Options of `lazy` and `oracle`.
 */
export interface LazyOptions {
  /** Offline profile, NodeLatency: a function, or points [rows, ns] by cell. Default: every node counts as 0 ns. */
  profile?: Profile | ProfileTable;
  /** SLA_target of requests without a deadline of their own, in all or by model name; default 100 ms. */
  slaNs?: number | Readonly<Record<string, number>>;
  /** Steps a decoder is expected to take; default 32 (section VI-C; see `decTimesteps`). */
  decTimesteps?: number;
  /** Model-allowed maximum batch size; default 64. */
  batchSizeMax?: number;
  /**
   * A request whose slack is negative even alone. "refuse", literally: nothing may be batched with it,
   * which is serial execution under overload. "ignore": it is lost and limits nobody. Default "refuse".
   */
  negativeSlack?: "refuse" | "ignore";
  /** Whether a sub-batch that preempted another may be preempted (Fig. 10, t = 5); default true. */
  nestedPreemption?: boolean;
}

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
  return lazyBatching("lazy", options, conservative);
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
  return lazyBatching(
    "oracle",
    options,
    exact(profileOf("oracle", options.profile)),
  );
}

function lazyBatching(
  name: string,
  options: LazyOptions,
  predictor: SlackPredictor,
): Policy {
  knownOptions(name, options, [
    "profile",
    "slaNs",
    "decTimesteps",
    "batchSizeMax",
    "negativeSlack",
    "nestedPreemption",
  ]);
  const profile = profileOf(name, options.profile);
  const decTimesteps = positiveInteger(
    name,
    "decTimesteps",
    options.decTimesteps ?? 32,
  );
  const batchSizeMax = positiveInteger(
    name,
    "batchSizeMax",
    options.batchSizeMax ?? 64,
  );
  const sla = options.slaNs ?? 100_000_000;
  const nestedPreemption = flag(
    name,
    "nestedPreemption",
    options.nestedPreemption ?? true,
  );
  for (const ns of typeof sla === "object" ? Object.values(sla) : [sla]) {
    nonNegative(name, "slaNs", ns);
  }
  const { negativeSlack = "refuse" } = options;
  if (negativeSlack !== "refuse" && negativeSlack !== "ignore") {
    throw new RangeError(
      `"negativeSlack" of policy "${name}" is "refuse" or "ignore", got ${
        describe(negativeSlack)
      }`,
    );
  }

  const infQ = new Map<Model, Fifo<Member>>();
  /** The same queues, the one with the oldest request first after `sortByAge`. */
  const queues: Fifo<Member>[] = [];
  const tables: BatchTable[] = [];
  let notes: Note[] = [];

  function slaOf({ model, arrivalNs, deadlineNs }: Request): number {
    if (deadlineNs !== Infinity) return deadlineNs - arrivalNs;
    return typeof sla === "object" ? sla[model.name] ?? Infinity : sla;
  }

  /** Fixes what the member's slack counts down from (T_wait ends when it is issued). */
  function limit(member: Member, nowNs: number): void {
    const { request, execNs } = member;
    const slaNs = slaOf(request);
    const alone = slaNs - (nowNs - request.arrivalNs) - execNs; // Eq. 1
    member.limitNs = alone < 0 && negativeSlack === "ignore"
      ? Infinity
      : predictor.limitNs(request.arrivalNs, slaNs, nowNs);
  }

  /** Section IV-B: preempts the active batch for pending inputs, or lets it complete uninterrupted. */
  function admit(table: BatchTable, nowNs: number): void {
    const { top } = table;
    if (top?.uninterrupted) return;
    if (!nestedPreemption && table.entries.length > 1) return;
    sortByAge(queues);
    for (const queue of queues) {
      const { first } = queue;
      if (first === undefined) continue;
      const { request: { model }, nextCell } = first;
      const room = batchSizeMax - table.rowsOf(model);
      if (room <= 0) continue;
      const issued: Member[] = [];
      let slackNs = Infinity;
      let pending = new SubBatch(model, nextCell);
      while (issued.length < room) {
        const member = queue.at(issued.length);
        if (member?.nextCell !== nextCell) break;
        limit(member, nowNs);
        pending.begin(member);
        const leftNs = predictor.slackNs(table, pending, nowNs); // Eq. 2
        if (leftNs < 0 && (top || issued.length > 0)) {
          if (top && issued.length === 0) return refuse(top, member, leftNs);
          pending = new SubBatch(model, nextCell);
          for (const before of issued) pending.begin(before);
          break;
        }
        issued.push(member);
        slackNs = leftNs;
      }
      for (let i = 0; i < issued.length; i++) queue.shift();
      note(top ? "preempt" : "push", issued, `slack ${slackNs} ns`);
      table.push(pending);
      return;
    }
  }

  function refuse(top: SubBatch, pending: Member, slackNs: number): void {
    top.uninterrupted = true;
    note("refuse", [pending], `slack would be ${slackNs} ns`);
  }

  function note(op: Note["op"], members: readonly Member[], why: string): void {
    notes.push({ op, requests: members.map(({ request }) => request.id), why });
  }

  return {
    name,
    supports: ({ shape }) =>
      shape === "chain"
        ? undefined
        : "sub-batches catch up along a chain of nodes (LazyBatching, section IV-B); use cellular or merged",
    enqueue(request: LazyRequest) {
      const work = expectedWork(request, decTimesteps);
      const extents = expectedExtents(request, decTimesteps);
      const member = new Member(
        request,
        singleInputExecNs(request, work, profile, extents),
        work,
        Infinity,
        extents,
      );
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
      settle(table);
      admit(table, view.nowNs);
      settle(table);
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

  /** After a node or a push: entries that now stand at one node become one. */
  function settle(table: BatchTable): void {
    table.advance();
    const merged = table.mergeTop(batchSizeMax);
    if (merged) note("merge", merged, `at node ${table.top!.cell.name}`);
  }
}

/** The queue with the oldest request first, empty ones last. */
function sortByAge(queues: Fifo<Member>[]): void {
  if (queues.length === 1) return;
  const age = ({ first }: Fifo<Member>) => first?.request.id ?? Infinity;
  queues.sort((a, b) => age(a) < age(b) ? -1 : 1);
}
