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
import { hasExtents } from "../../graph/cache.ts";
import type { Model } from "../../graph/model.ts";
import { advanceReady, sweep } from "../common/frontier.ts";
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
  type AutoRequest,
  type Batch,
  ModelState,
  type Pass,
} from "./model_state.ts";

/** Requests for each further task that a thread has ahead. */
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
  /** By worker, its newest launch. */
  const passes: Pass[] = [];

  function launch(
    { requests, why }: Batch,
    pass: Pass,
  ): Launch<AutoRequest> {
    const { worker, atNs } = pass;
    const before = passes[worker];
    // Who goes on does so at once: what passed beside what ran is the host's.
    if (before && requests.some(({ tag }) => tag.newest === before)) {
      costs.sawHost(atNs - before.atNs - before.ranNs);
    }
    passes[worker] = pass;
    for (const { tag } of requests) {
      tag.launches++;
      tag.newest = pass;
    }
    const ready = requests.flatMap(({ tag }) => tag.ready);
    const { cells } = requests[0].model;
    const steps = sweep<AutoRequest, unknown>(cells, ready);
    return { worker, steps, release: "step", why };
  }

  return {
    name,
    supports: () => undefined,
    enqueue(request: AutoRequest) {
      const { model, arrivalNs } = request;
      const state = models.get(model) ??
        new ModelState(model, costs, batchSizeMax);
      models.set(model, state);
      state.enqueue(request, arrivalNs + targetNsOf(request));
    },
    schedule({ nowNs, workers, isRemote = false }: EngineView): Decision {
      const states = [...models.values()];
      const size = states.reduce((sum, state) => sum + state.size, 0);
      // Threads have tasks ahead, the more the less it matters, so that they run on while the host is busy.
      const ahead = isRemote ? 1 + Math.floor(size / AHEAD) : 0;
      const free = workers.filter(({ queued }) => queued <= ahead)
        .sort((a, b) => a.queued - b.queued);
      for (const { id, queued } of free) {
        const others = workers.filter((other) => other.queued > 0).length -
          (queued > 0 ? 1 : 0);
        const situation = {
          nowNs,
          worker: id,
          workers: workers.length / costs.slowdown(workers.length),
          slowdown: costs.slowdown(others + 1),
          slowdownBefore: costs.slowdown(others),
        };
        const [best] = states.flatMap((state) => state.batch(situation) ?? [])
          .sort(inOrder);
        if (!best) continue;
        const pass = { worker: id, atNs: nowNs, busy: others + 1, ranNs: 0 };
        return { kind: "launch", launch: launch(best, pass) };
      }
      return IDLE;
    },
    submitted({ steps }: Launch<AutoRequest>) {
      for (const { cell, nodes } of steps) {
        for (const node of nodes) {
          const { owner } = node.graph;
          models.get(owner.model)!.submitted(owner, cell);
          advanceReady(node);
        }
      }
    },
    completed({ cell, nodes, worker }: Task<AutoRequest>, ranNs) {
      const pass = passes[worker];
      pass.ranNs += ranNs;
      if (nodes.length === 0) return;
      const own = models.get(nodes[0].graph.owner.model);
      for (const state of models.values()) {
        state.sawRun(state === own, pass, ranNs);
      }
      const extent = hasExtents(cell)
        ? {
          length: Math.round(mean(nodes.map(({ length }) => length))),
          caches: nodes[nodes.length >> 1].caches,
        }
        : undefined;
      costs.saw(cell, nodes.length, extent, ranNs, pass.busy);
    },
    finished({ steps }: Launch<AutoRequest>) {
      const all = steps.flatMap(({ nodes }) => nodes);
      for (const { tag } of new Set(all.map(({ graph }) => graph.owner))) {
        tag.launches--;
      }
    },
    ended: (request: AutoRequest) => models.get(request.model)?.ended(request),
  };
}

/** Who can still be saved before who cannot; a model that others have kept waiting for too long; what is done faster first. */
function inOrder(a: Batch, b: Batch): number {
  return Number(a.latestNs === Infinity) - Number(b.latestNs === Infinity) ||
    Number(b.isOwed) - Number(a.isOwed) || b.perNs - a.perNs;
}
