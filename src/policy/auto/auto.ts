/**
 * Our own: a policy that asks for a deadline, and for nothing else. Whenever a worker is idle it picks a model, the
 * requests of it that advance together, and lets them take one pass over the cells (see `iteration`).
 *
 * What it goes by, all of it from a cost table that is corrected while it runs (cost_table.ts):
 * - *whom*: with a deadline the most urgent first, without one the shortest first (what is left, less a share of the
 *   time waited);
 * - *how many*: with k waiting and t(b) for a batch of b, batches of b leave everybody waiting for (k / b + 1) / 2 of
 *   them on average; so the b with the least t(b) (1 + k / b), b less those who come meanwhile. On a flat curve that is
 *   everybody, on a steep one few. With a deadline as many as leave the most urgent in time, the most in time for the
 *   time that it takes;
 * - *fairness*: of several models what is done fastest, but one that waits gets a ninth of the time in the end;
 * - *who is lost*: who would be late even alone is set aside until nobody can be saved, so that nobody is late because
 *   of it, or rides along where that takes no longer;
 * - *whether to wait*: for those that run, where workers slow each other down and so less is waited in all, or somebody
 *   would be late;
 * - *how far ahead*: beside threads a task, and one more for each 16 requests that wait.
 *
 * Assumption: a decoder takes as many steps as those of its model did before, on average.
 */
import { mean } from "../../base/statistics.ts";
import { type Extent, hasExtents } from "../../graph/cache.ts";
import type { Model } from "../../graph/model.ts";
import { advance, sweep } from "../common/frontier.ts";
import { type SlaNs, targetOf } from "../common/target.ts";
import type { Launch, Task } from "../launch.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import { type Profile, profileOf, type ProfileTable } from "../profile.ts";
import { CostTable } from "./cost_table.ts";
import {
  type AutoNode,
  type AutoRequest,
  type Batch,
  ModelState,
  perNs,
} from "./model_state.ts";

/** Share of the newest batch in what batches beside others take. */
const NEWEST = 0.02;
/** Requests that wait for each further task that a thread has ahead. */
const AHEAD = 16;

/** Options of `auto`. */
export interface AutoOptions {
  /**
   * Latency that requests without a deadline of their own may have, in all or by model name. Default: none, then what
   * counts is the mean latency.
   */
  slaNs?: SlaNs;
  /** What batches take, to begin with: a function, or points [rows, ns] by cell. Default: it is found out. */
  profile?: Profile | ProfileTable;
  /** Most rows that a device takes at once; default 64. */
  batchSizeMax?: number;
}

/**
 * Asks for a deadline, and for nothing else: how many requests advance together, who goes first, and who is set aside
 * follow from measured costs. Batches any model.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { auto } from "@shoal/core";
 *
 * const policy = auto({ slaNs: 50e6 });
 * assert.equal(policy.name, "auto");
 * ```
 */
export function auto(options: AutoOptions = {}): Policy {
  const name = "auto";
  knownOptions(name, options, ["slaNs", "profile", "batchSizeMax"]);
  const batchSizeMax = positiveInteger(
    name,
    "batchSizeMax",
    options.batchSizeMax ?? 64,
  );
  const targetNsOf = targetOf(name, options.slaNs ?? Infinity);
  const costs = new CostTable(
    options.profile && profileOf(name, options.profile),
  );
  const models = new Map<Model, ModelState>();
  /** By the number of workers that are busy: what a batch takes, in multiples of its time alone. */
  const slowdowns: number[] = [];
  /** The same: batches that this is the mean of. */
  const counts: number[] = [];
  /** By worker, of its newest launch: which, when, how many were busy then, and what the worker ran since. */
  const lanes: {
    id: number;
    atNs: number;
    busy: number;
    ranNs: number;
    state: ModelState;
  }[] = [];
  let launches = 0;

  function launch(
    { state, requests, why }: Batch,
    worker: number,
    nowNs: number,
    busy: number,
  ): Launch<AutoRequest> {
    const lane = lanes[worker];
    // Who goes on does so at once: what passed beside what ran is the host's.
    if (lane && requests.some(({ tag }) => tag.newest === lane.id)) {
      costs.sawHost(nowNs - lane.atNs - lane.ranNs);
    }
    lanes[worker] = { id: ++launches, atNs: nowNs, busy, ranNs: 0, state };
    lane?.state.sawPass(lane.ranNs);
    state.started(requests, worker, launches);
    const ready = requests.flatMap(({ tag }) => tag.ready);
    const steps = sweep<AutoRequest, unknown>(state.model.cells, ready);
    return { worker, steps, release: "step", why };
  }

  return {
    name,
    supports: () => undefined,
    enqueue(request: AutoRequest) {
      let state = models.get(request.model);
      if (!state) {
        state = new ModelState(request.model, costs, batchSizeMax);
        models.set(request.model, state);
      }
      state.enqueue(request, request.arrivalNs + targetNsOf(request));
    },
    schedule({ nowNs, workers, isRemote = false }: EngineView): Decision {
      let waiting = 0;
      for (const state of models.values()) waiting += state.waiting;
      // Threads have tasks ahead, the more the less it matters, so that they run on while the host is busy.
      const ahead = isRemote ? 1 + Math.floor(waiting / AHEAD) : 0;
      const free = workers.filter(({ queued }) => queued <= ahead)
        .sort((a, b) => a.queued - b.queued);
      for (const { id } of free) {
        const busy = workers.filter((other) =>
          other.queued > 0 && other.id !== id
        ).length;
        const situation = {
          nowNs,
          worker: id,
          workers: workers.length / (slowdowns[workers.length] ?? 1),
          slowdown: slowdowns[busy + 1] ?? 1,
          slowdownBefore: slowdowns[busy] ?? 1,
        };
        let best: Batch | undefined;
        for (const state of models.values()) {
          const batch = state.batch(situation);
          if (batch && (!best || goesBefore(batch, best))) best = batch;
        }
        if (best) {
          return {
            kind: "launch",
            launch: launch(best, id, nowNs, busy + 1),
          };
        }
      }
      return IDLE;
    },
    submitted({ steps }: Launch<AutoRequest>) {
      for (const { nodes } of steps) {
        for (const node of nodes) {
          const { owner } = node.graph;
          const at = owner.tag.ready.indexOf(node);
          if (at >= 0) owner.tag.ready.splice(at, 1);
          models.get(owner.model)!.submitted(owner, node);
          advance(node, becameReady);
        }
      }
    },
    completed({ cell, nodes, padding, worker }: Task<AutoRequest>, ranNs) {
      const rows = nodes.length + padding;
      lanes[worker].ranNs += ranNs;
      if (rows === 0) return;
      const { owner } = nodes[0]?.graph ?? {};
      for (const state of models.values()) {
        state.sawRun(owner?.model === state.model, ranNs);
      }
      const extent = typicalOf(nodes);
      const { busy } = lanes[worker];
      if (busy === 1) return costs.saw(cell, rows, extent, ranNs);
      const aloneNs = costs.ns(cell, rows, extent);
      if (aloneNs <= 0) return;
      const known = slowdowns[busy] ?? 1;
      counts[busy] = (counts[busy] ?? 0) + 1;
      const weight = Math.max(1 / counts[busy], NEWEST);
      slowdowns[busy] = known + weight * (ranNs / aloneNs - known);
    },
    finished({ steps }: Launch<AutoRequest>) {
      const all = steps.flatMap(({ nodes }) => nodes);
      for (const request of new Set(all.map(({ graph }) => graph.owner))) {
        models.get(request.model)!.finished(request);
      }
    },
    ended: (request: AutoRequest) => models.get(request.model)?.ended(request),
  };
}

/** Who can still be saved before who cannot; a model that others have kept waiting for too long; what is done faster first. */
function goesBefore(a: Batch, b: Batch): boolean {
  if (a.isLost !== b.isLost) return b.isLost;
  const aIsOwed = a.state.isOwed(a);
  if (aIsOwed !== b.state.isOwed(b)) return aIsOwed;
  return perNs(a) > perNs(b);
}

/** Mean extent of rows, of those that have one. */
function typicalOf(nodes: readonly AutoNode[]): Extent | undefined {
  if (nodes.length === 0 || !hasExtents(nodes[0].cell)) return undefined;
  return {
    length: Math.round(mean(nodes.map(({ length }) => length))),
    caches: nodes[0].caches.map((_, i) => ({
      seen: Math.round(mean(nodes.map(({ caches }) => caches[i].seen))),
    })),
  };
}

function becameReady(node: AutoNode): void {
  node.graph.owner.tag.ready.push(node);
}
