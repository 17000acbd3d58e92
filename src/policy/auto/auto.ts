/**
 * Our own: a policy that asks for a deadline, and for nothing else. Whenever a worker is idle it picks a model, the
 * requests of it that advance together, and lets them take one pass over the cells (see `iteration`).
 *
 * What it goes by, all of it from a cost table that is corrected while it runs (common/cost_table.ts):
 * - *whom*: with a deadline the most urgent first, without one the shortest first (what is left, less a share of the
 *   time waited);
 * - *how many*: with k waiting and t(b) for a batch of b, batches of b leave everybody waiting for (k / b + 1) / 2 of
 *   them on average; so the b with the least t(b) (1 + k / b). On a flat curve that is everybody, on a steep one few.
 *   With a deadline as many as leave the most urgent in time, the most in time for the time that it takes;
 * - *who is lost*: who would be late even alone is set aside until nobody can be saved, so that nobody is late because
 *   of it;
 * - *whether to wait*: only with a deadline, only when the batch at hand is smaller than what the arrivals seen need
 *   (b / T(b) below their rate), and no longer than one more leaves all in time.
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
} from "./model_state.ts";

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
      const ahead = isRemote ? 1 : 0;
      const idle = workers.filter(({ queued }) => queued <= ahead);
      let untilNs = Infinity;
      for (const worker of idle) {
        let best: { state: ModelState; batch: Batch } | undefined;
        for (const state of models.values()) {
          const batch = state.batch(worker.id, nowNs, idle.length);
          if (batch === undefined) continue;
          if (batch.untilNs > nowNs) {
            untilNs = Math.min(untilNs, batch.untilNs);
          } else if (best === undefined || goesBefore(batch, best.batch)) {
            best = { state, batch };
          }
        }
        if (best === undefined) continue;
        const { state, batch } = best;
        state.started(batch.requests, worker.id);
        const ready = batch.requests.flatMap(({ tag }) => tag.ready);
        const launch: Launch<AutoRequest> = {
          worker: worker.id,
          steps: sweep<AutoRequest, unknown>(state.model.cells, ready),
          release: "step",
          why: batch.why,
        };
        return { kind: "launch", launch };
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
    completed({ cell, nodes, padding }: Task<AutoRequest>, ranNs) {
      const rows = nodes.length + padding;
      if (rows > 0) costs.saw(cell, rows, typicalOf(nodes), ranNs);
    },
    finished({ steps }: Launch<AutoRequest>) {
      const seen = new Set<AutoRequest>();
      for (const { nodes } of steps) {
        for (const { graph: { owner } } of nodes) seen.add(owner);
      }
      for (const { tag } of seen) tag.launches--;
    },
    ended(request: AutoRequest) {
      models.get(request.model)?.ended(request);
    },
  };
}

/** Who can still be saved before who cannot; deadlines before none; the sooner, or what is done faster. */
function goesBefore(a: Batch, b: Batch): boolean {
  const aIsLost = Number.isNaN(a.latestNs);
  const bIsLost = Number.isNaN(b.latestNs);
  if (aIsLost !== bIsLost) return bIsLost;
  if (aIsLost || a.latestNs === b.latestNs) return a.perNs > b.perNs;
  return a.latestNs < b.latestNs;
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
