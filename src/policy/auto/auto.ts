/**
 * Our own. Whenever a worker is idle it picks a model, and requests of it for a pass over its cells, by learned costs:
 * - *whom*: with a deadline the most urgent first, without one the shortest first (less a share of the time waited);
 * - *where*: in one part of their way, encoder or decoder: most get through it for its time, or are enough for a batch;
 * - *how many*: as many as are in time, or of k the b of least t(b) (1 + k / idle / b); beside others if it pays;
 * - *who is lost*: who would be late even alone is set aside, or rides along; frames of streams sooner, as others wait for them;
 * - *which model*: whose requests are done fastest, of streams who waited most for its time; one that waits gets a ninth;
 * Assumption: a decoder takes as many steps as those before did that brought as much: a line, fitted as they end.
 */
import { CostTable } from "../common/cost_table.ts";
import { advanceReady, finishPass, sweep } from "../common/frontier.ts";
import { type SlaNs, targetOf } from "../common/target.ts";
import type { Model } from "../../graph/model.ts";
import type { Launch, Task } from "../launch.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import { type EngineView, IDLE, type Policy } from "../policy.ts";
import { type Profile, profileOf, type ProfileTable } from "../profile.ts";
import { type AutoRequest, ModelState, type Pass, RUN } from "./model_state.ts";

/** Options of `auto`. */
export interface AutoOptions {
  /** Latency of requests without a deadline of their own, in all or by model name. Default: none, the mean counts. */
  slaNs?: SlaNs;
  /** What batches take, to begin with: a function, or points [rows, ns] by cell. Default: it is found out. */
  profile?: Profile | ProfileTable;
  /** Most requests of a pass; default 64. */
  batchSizeMax?: number;
}

/**
 * Asks for a deadline, and for nothing else: who goes together, and who first, follow from costs. Batches any model.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 * @example
 * ```ts
 * import { auto } from "@shoal/core";
 * auto({ slaNs: 50e6 });
 * ```
 */
export function auto(options: AutoOptions = {}): Policy {
  knownOptions("auto", options, ["slaNs", "profile", "batchSizeMax"]);
  const { slaNs = Infinity, profile, batchSizeMax = 64 } = options;
  positiveInteger("auto", "batchSizeMax", batchSizeMax);
  const targetNsOf = targetOf("auto", slaNs);
  const costs = new CostTable(profile && profileOf("auto", profile));
  const models = new Map<Model, ModelState>();
  const newestOf: Pass[] = [];
  return {
    name: "auto",
    supports: () => undefined,
    enqueue(request: AutoRequest) {
      const state = models.get(request.model) ??
        new ModelState(request.model, costs, batchSizeMax);
      models.set(request.model, state);
      state.enqueue(request, request.arrivalNs + targetNsOf(request));
    },
    schedule({ nowNs, workers, isRemote = false }: EngineView) {
      const states = [...models.values()].filter((one) => one.requests.length);
      const size = states.reduce((n, s) => n + (s.due || s.requests.length), 0);
      const most = Math.min(size, ...states.map(({ led }) => led));
      const short = Math.min(4, 1e6 / costs.taskNs.value); // Are over before the host hears of it.
      const ahead = isRemote ? 1 + Math.floor(most / 16 + short) : 0;
      const free = workers.filter(({ queued }) => queued <= ahead)
        .sort((a, b) => a.queued - b.queued);
      const [all, shares] = [workers.length, states.length];
      for (const { id: worker } of free) {
        const others = workers.filter((w) => w.queued > 0 && w.id !== worker);
        const beside = costs.sharesOf(others.map((w) => newestOf[w.id]));
        const busy = others.length + 1;
        const now = { ...RUN, nowNs, worker, busy, beside, ahead, all, shares };
        const [one] = states.map((state) => state.batch(now))
          .sort((a, b) => b!.rank - a!.rank || b!.perNs - a!.perNs);
        if (!one) continue;
        const { why, requests, requests: { length: rows, 0: { model } } } = one;
        costs.sawGap(newestOf[worker], requests, nowNs);
        newestOf[worker] = { ...now, model, rows };
        for (const { tag } of requests) tag.newest = newestOf[worker];
        const steps = sweep(requests);
        const launch = { worker, steps, release: "step", why } as const;
        return { kind: "launch", launch };
      }
      return IDLE;
    },
    submitted({ steps }: Launch<AutoRequest>) {
      models.get(steps[0].nodes[0].graph.owner.model)!.submitted(steps);
      advanceReady(steps);
    },
    completed(task: Task<AutoRequest>, ranNs) {
      const pass = newestOf[task.worker];
      pass.ranNs += ranNs;
      if (task.nodes.length === 0) return;
      pass.expectedNs += costs.saw(task, ranNs, pass.busy);
      const { model } = task.nodes[0].graph.owner;
      for (const one of models.values()) one.sawRun(one.model === model, ranNs);
    },
    finished({ steps, worker }: Launch<AutoRequest>) {
      finishPass(steps);
      costs.sawPass(newestOf[worker]);
    },
    ended: (request: AutoRequest) => models.get(request.model)?.ended(request),
  };
}
