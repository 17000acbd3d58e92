/**
 * Our own: a policy that asks for a deadline, and for nothing else. Whenever a worker is idle it picks a model, the
 * requests of it that advance together, and lets them take one pass over the cells (see `iteration`).
 *
 * What it goes by, all of it from a cost table that is corrected while it runs (common/cost_table.ts):
 * - *whom*: with a deadline the most urgent first, without one the shortest first (what is left, less a share of the
 *   time waited);
 * - *how many*: with k waiting and t(b) for a batch of b, batches of b leave everybody waiting for (k / b + 1) / 2 of
 *   them on average; so the b with the least t(b) (1 + k / b), b less those who come meanwhile. On a flat curve that is
 *   everybody, on a steep one few. With a deadline as many as leave the most urgent in time, the most in time for the
 *   time that it takes;
 * - *fairness*: of several models what is done fastest, but one that waits gets a ninth of the time in the end;
 * - *who is lost*: who would be late even alone is set aside until nobody can be saved, so that nobody is late because
 *   of it;
 * - *whether to wait*: with a deadline, when the batch at hand is smaller than what the arrivals seen need, and no
 *   longer than one more leaves all in time; and for those that run, where workers slow each other down so much that
 *   going together gets more done.
 *
 * Assumption: a decoder takes as many steps as those of its model did before, on average.
 */
import { mean } from "../../base/statistics.ts";
import { type Extent, hasExtents } from "../../graph/cache.ts";
import type { Model } from "../../graph/model.ts";
import { CostTable } from "../common/cost_table.ts";
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
import {
  type AutoNode,
  type AutoRequest,
  type Batch,
  ModelState,
  perNs,
} from "./model_state.ts";

/** Share of the newest batch in what batches beside others take. */
const NEWEST = 0.02;

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
 * Asks for a deadline, and for nothing else: how many requests advance together, who goes first, who is set aside and
 * whether to wait for more follow from measured costs. Batches any model.
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
  /** By worker: how many were busy when its newest launch began, when that was, and what it ran since. */
  const company: number[] = [];
  const launchedNs: number[] = [];
  const ranSinceNs: number[] = [];

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
      let untilNs = Infinity;
      // Beside threads a worker has one task ahead, once none is idle.
      for (let queued = 0; queued <= (isRemote ? 1 : 0); queued++) {
        for (const worker of workers) {
          if (worker.queued !== queued) continue;
          const busy = workers.filter((other) =>
            other.queued > 0 && other !== worker
          ).length;
          const situation = {
            nowNs,
            worker: worker.id,
            workers: workers.length / (slowdowns[workers.length] ?? 1),
            slowdown: slowdowns[busy + 1] ?? 1,
            slowdownBefore: slowdowns[busy] ?? 1,
          };
          let best: Batch | undefined;
          for (const state of models.values()) {
            const batch = state.batch(situation);
            if (batch === undefined) continue;
            if (batch.untilNs > nowNs) {
              untilNs = Math.min(untilNs, batch.untilNs);
            } else if (best === undefined || goesBefore(batch, best)) {
              best = batch;
            }
          }
          if (best === undefined) continue;
          const { state, requests, why } = best;
          // Who goes on does so at once: what passed beside what ran is the host's.
          const goesOn = requests.some(({ tag }) =>
            tag.worker === worker.id && tag.launchedNs === launchedNs[worker.id]
          );
          if (goesOn) {
            const hostNs = nowNs - launchedNs[worker.id] -
              ranSinceNs[worker.id];
            costs.sawHost(Math.max(0, hostNs));
          }
          state.started(requests, worker.id, nowNs);
          launchedNs[worker.id] = nowNs;
          ranSinceNs[worker.id] = 0;
          company[worker.id] = busy + 1;
          const ready = requests.flatMap(({ tag }) => tag.ready);
          const launch: Launch<AutoRequest> = {
            worker: worker.id,
            steps: sweep<AutoRequest, unknown>(state.model.cells, ready),
            release: "step",
            why,
          };
          return { kind: "launch", launch };
        }
      }
      if (untilNs === Infinity) return IDLE;
      const why = "one more leaves all in time, and the rate needs larger ones";
      return { kind: "wait", untilNs, why };
    },
    submitted({ steps }: Launch<AutoRequest>) {
      for (const { nodes } of steps) {
        for (const node of nodes) {
          const { owner } = node.graph;
          models.get(owner.model)!.submitted(owner, node);
          advance(node, becameReady);
        }
      }
    },
    completed({ cell, nodes, padding, worker }: Task<AutoRequest>, ranNs) {
      const rows = nodes.length + padding;
      ranSinceNs[worker] += ranNs;
      if (rows === 0) return;
      const { owner } = nodes[0]?.graph ?? {};
      for (const state of models.values()) {
        state.sawRun(owner?.model === state.model, ranNs);
      }
      const extent = typicalOf(nodes);
      const beside = company[worker] ?? 1;
      const known = slowdowns[beside] ?? 1;
      if (beside > 1) {
        const alone = costs.ns(cell, rows, extent);
        if (alone > 0) {
          slowdowns[beside] = known + NEWEST * (ranNs / alone - known);
        }
      } else costs.saw(cell, rows, extent, ranNs);
    },
    finished({ steps }: Launch<AutoRequest>) {
      const seen = new Set<AutoRequest>();
      for (const { nodes } of steps) {
        for (const { graph: { owner } } of nodes) seen.add(owner);
      }
      for (const request of seen) models.get(request.model)!.finished(request);
    },
    ended(request: AutoRequest) {
      models.get(request.model)?.ended(request);
    },
  };
}

/** Who can still be saved before who cannot; a model that others have kept waiting for too long; what is done faster first. */
function goesBefore(a: Batch, b: Batch): boolean {
  const aIsLost = Number.isNaN(a.latestNs);
  const bIsLost = Number.isNaN(b.latestNs);
  if (aIsLost !== bIsLost) return bIsLost;
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
