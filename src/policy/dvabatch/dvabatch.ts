/**
 * DVABatch: models are sliced into stages, each with an executor; batches are created, stretched and
 * split between stages, so that queries enter and leave them in several places.
 * Source: Cui et al., "DVABatch: Diversity-aware Multi-Entry Multi-Exit Batching for Efficient
 * Processing of DNN Services on GPUs" (USENIX ATC 2022). Slicing: section 7.1 (dvabatch/stages.ts); batch
 * table and queues: section 5, Fig. 8 (dvabatch/query_table.ts); buffer pairs and executors: section 6,
 * Fig. 11 (dvabatch/buffer_pairs.ts, dvabatch/stage_executor.ts); Policies I-III: section 7.2 (dvabatch/schedule.ts).
 * State: one pipeline per model; the one whose oldest request waits longest goes first.
 * A run is one stage of one batch, padded to its longest query; it carries the two buffers it uses.
 */
import { assert } from "../../base/assert.ts";
import { describe } from "../../base/describe.ts";
import type { Cell } from "../../graph/cell.ts";
import { checkedSchedule } from "./checked_schedule.ts";
import { profiledCompWait } from "./comp_wait.ts";
import type { Model } from "../../graph/model.ts";
import { type Query, SPLIT_MANNERS } from "./query_table.ts";
import { Pipeline, type Work } from "./pipeline.ts";
import { DVA_POLICIES, type DvaSchedule, dvaSchedule } from "./schedule.ts";
import {
  atPreferredSizes,
  durationNs,
  type Stage,
  timeEven,
} from "./stages.ts";
import type { Launch } from "../launch.ts";
import { lockstep, paddingObstacle } from "../common/lockstep.ts";
import { knownOptions, nonNegative, positiveInteger } from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import { type Profile, profileOf, type ProfileTable } from "../profile.ts";
import type { Request } from "../request.ts";

/**
 * Options of `dvabatch`; names are the paper's.
 */
export interface DvaBatchOptions {
  /**
   * Offline profile (section 7.1): a function, or points [rows, ns] by cell. Default: every operator counts as
   * 0 ns, and stages have equally many cells.
   */
  profile?: Profile | ProfileTable;
  /** Number of stages of equal time, or cuts where the preferred batch size changes; default 4. */
  stages?: number | "preferred";
  /**
   * Which of section 7.2's policies: "I" for diverse input sizes, "II" for operators whose best batch sizes differ,
   * "III" for diverse loads, "II+III" both; "none" batches like the baselines, stage by stage. Default "III": every
   * model has load diversity (section 7.1).
   */
  policy?: "none" | "I" | "II" | "III" | "II+III";
  /**
   * Meta operations of your own instead of a policy (Fig. 12). Called once per model, with its stages: adjacent cells
   * that an executor runs without interruption.
   */
  schedule?: (
    model: Model,
    stages: readonly (readonly Cell[])[],
  ) => DvaSchedule;
  /** bs_max; default 64. */
  batchSizeMax?: number;
  /** Batch time window, how long the oldest waits for company; default 0, for Policy I the time of the first stage at the maximum size. */
  windowNs?: number;
  /**
   * T_comp_wait: a batch that started longer ago is not stretched; "profile": for as long as the profile says that
   * stretching makes both cheaper, by the sizes of the batch and of what joins it (dvabatch/comp_wait.ts). Default
   * "profile", which without a `profile` forbids nothing. Assumption: the paper has one figure and does not give it.
   */
  compWaitNs?: number | "profile";
  /** Buffer pairs; 1: stages run serially. Default 2 (Fig. 19). */
  pairs?: number;
  /**
   * Policy II: share by which two halves may take longer than the whole and still are preferred. Default 0,
   * literally T_remain(b) >= 2 T_remain(b / 2). On a device whose kernels never take more than twice the time
   * for twice the rows that holds by chance only; on a measured profile noise makes it hold.
   */
  splitTolerance?: number;
  /**
   * Policy II: "serial": a part of a split starts when the one before has left the last stage (section 7.2; other batches
   * may run beside it); "parallel": parts follow each other through the stages as any two batches do. Default "serial".
   */
  splitManner?: "serial" | "parallel";
  /** Policy I: ratio of input lengths from which on queries never share a batch; default 2. */
  lengthRatio?: number;
}

/**
 * DVABatch: models are sliced into stages, each with an executor; batches are created, stretched and split between
 * stages, so that queries enter and leave them in several places. For models of shape "chain".
 * Source: Cui et al., "DVABatch: Diversity-aware Multi-Entry Multi-Exit Batching for Efficient Processing of DNN
 * Services on GPUs" (USENIX ATC 2022), sections 5 to 7.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example A schedule of one's own: batches of two, never stretched or split
 * ```ts
 * import assert from "node:assert/strict";
 * import { dvabatch, type DvaSchedule, lstm } from "@shoal/core";
 *
 * const pairs: DvaSchedule = {
 *   admit({ waiting, canStart }) {
 *     if (!canStart) return undefined;
 *     const [first, second] = waiting;
 *     return { op: "new", groups: [second ? [first, second] : [first]], why: "by twos" };
 *   },
 *   split: (size) => [size],
 * };
 * const policy = dvabatch({ stages: 2, schedule: () => pairs });
 * assert.equal(policy.supports(lstm({ hidden: 4, vocabulary: 10 })), undefined);
 * ```
 */
export function dvabatch(options: DvaBatchOptions = {}): Policy {
  const name = "dvabatch";
  knownOptions(name, options, [
    "profile",
    "stages",
    "policy",
    "schedule",
    "batchSizeMax",
    "windowNs",
    "compWaitNs",
    "pairs",
    "splitTolerance",
    "splitManner",
    "lengthRatio",
  ]);
  const profile = profileOf(name, options.profile);
  const size = (option: "batchSizeMax" | "pairs", otherwise: number) =>
    positiveInteger(name, option, options[option] ?? otherwise);
  const batchSizeMax = size("batchSizeMax", 64);
  const pairs = size("pairs", 2);
  const { policy = "III", stages: slicing = 4 } = options;
  if (!DVA_POLICIES.includes(policy)) {
    throw new RangeError(
      `"policy" of policy "${name}" is ${DVA_POLICIES.join(", ")}; got ${
        describe(policy)
      }`,
    );
  }
  if (slicing !== "preferred") positiveInteger(name, "stages", slicing);
  const { compWaitNs = "profile" } = options;
  if (compWaitNs !== "profile" && typeof compWaitNs !== "number") {
    throw new RangeError(
      `"compWaitNs" of policy "${name}" is a number or "profile", got ${
        describe(compWaitNs)
      }`,
    );
  }
  if (compWaitNs !== "profile") nonNegative(name, "compWaitNs", compWaitNs);
  if (options.windowNs !== undefined) {
    nonNegative(name, "windowNs", options.windowNs);
  }
  const { lengthRatio = 2, splitTolerance = 0 } = options;
  if (
    typeof splitTolerance !== "number" ||
    !(splitTolerance >= 0 && splitTolerance < 1)
  ) {
    throw new RangeError(
      `"splitTolerance" of policy "${name}" is in [0, 1), got ${
        describe(splitTolerance)
      }`,
    );
  }
  const { splitManner = "serial" } = options;
  if (!SPLIT_MANNERS.includes(splitManner)) {
    throw new RangeError(
      `"splitManner" of policy "${name}" is ${SPLIT_MANNERS.join(", ")}; got ${
        describe(splitManner)
      }`,
    );
  }
  if (typeof lengthRatio !== "number" || !(lengthRatio > 1)) {
    throw new RangeError(
      `"lengthRatio" of policy "${name}" is above 1, got ${
        describe(lengthRatio)
      }`,
    );
  }
  if (
    options.schedule !== undefined && typeof options.schedule !== "function"
  ) {
    throw new TypeError(
      `"schedule" of policy "${name}" is a function, got ${
        describe(options.schedule)
      }`,
    );
  }

  const pipelines = new Map<Model, Pipeline>();
  /** The same, the one whose oldest request waits longest first after `sortByAge`. */
  const byAge: Pipeline[] = [];
  /** Requests from before the first scheduling point, which tells the number of workers. */
  const arrived = new Map<Model, Query[]>();
  /** By worker, each of which has one run at a time. */
  const running: ({ pipeline: Pipeline; work: Work } | undefined)[] = [];

  function slice(model: Model): Stage[] {
    return slicing === "preferred"
      ? atPreferredSizes(model, profile)
      : timeEven(model, slicing, profile, batchSizeMax);
  }

  function scheduleFor(model: Model, stages: readonly Stage[]): DvaSchedule {
    if (options.schedule) {
      return checkedSchedule(options.schedule(model, stages));
    }
    const windowNs = options.windowNs ??
      (policy === "I" ? durationNs(stages[0], batchSizeMax, profile) : 0);
    const remainingNs = (stage: number, rows: number) =>
      durationNs(stages.slice(stage + 1).flat(), rows, profile);
    return dvaSchedule(policy, {
      batchSizeMax,
      windowNs,
      compWaitNs: compWaitNs === "profile"
        ? profiledCompWait(stages.length, remainingNs)
        : () => compWaitNs,
      splitTolerance,
      lengthRatio,
      remainingNs,
    });
  }

  function pipelineOf(model: Model, workers: number): Pipeline {
    let pipeline = pipelines.get(model);
    if (pipeline === undefined) {
      const stages = slice(model);
      const schedule = scheduleFor(model, stages);
      pipeline = new Pipeline({
        id: pipelines.size,
        stages,
        schedule,
        pairs,
        batchSizeMax,
        workers,
        splitManner,
      });
      pipelines.set(model, pipeline);
      byAge.push(pipeline);
    }
    return pipeline;
  }

  function launch(pipeline: Pipeline, work: Work): Launch {
    const { executor: { stage, worker }, item, queries } = work;
    const buffer = (at: number) => `${pipeline.id}/${at}/${item.pair}`;
    const { notes } = pipeline;
    pipeline.notes = [];
    running[worker] = { pipeline, work };
    return {
      ...lockstep({
        worker,
        requests: queries.map(({ request }) => request),
        cells: pipeline.stages[stage],
        why: `stage ${stage} of batch ${item.batch.id}`,
      }),
      tokens: [
        { id: buffer(stage), access: "read" },
        { id: buffer(stage + 1), access: "write" },
      ],
      notes,
    };
  }

  return {
    name,
    supports: paddingObstacle,
    enqueue(request: Request<Query>) {
      const query: Query = { request, batched: false, ended: false };
      request.tag = query;
      const pipeline = pipelines.get(request.model);
      const early = arrived.get(request.model);
      if (pipeline) pipeline.waiting.push(query);
      else if (early) early.push(query);
      else arrived.set(request.model, [query]);
    },
    schedule({ nowNs, workers }: EngineView): Decision {
      for (const [model, queries] of arrived) {
        const { waiting } = pipelineOf(model, workers.length);
        for (const query of queries) if (!query.ended) waiting.push(query);
      }
      if (arrived.size > 0) arrived.clear();
      const isIdle = (worker: number) => workers[worker].queued === 0;
      let wait: { untilNs: number; why: string } | undefined;
      sortByAge(byAge);
      for (const pipeline of byAge) {
        let next = pipeline.next(nowNs, isIdle);
        while (next && "item" in next && isPassedBy(pipeline, next)) {
          pipeline.finish(next);
          next = pipeline.next(nowNs, isIdle);
        }
        if (next === undefined) continue;
        if ("item" in next) {
          return { kind: "launch", launch: launch(pipeline, next) };
        }
        if (wait === undefined || next.untilNs < wait.untilNs) wait = next;
      }
      return wait ? { kind: "wait", ...wait } : IDLE;
    },
    finished({ worker }) {
      const under = running[worker];
      assert(under !== undefined, "a worker that completes a task runs one");
      const { pipeline, work } = under;
      running[worker] = undefined;
      pipeline.finish(work);
    },
    ended({ model, tag: query }: Request<Query>) {
      query.ended = true;
      if (!query.batched) pipelines.get(model)?.waiting.delete(query);
    },
  };
}

/** Whether nobody has a node in the stage, as a prompt of one token has none where longer ones are read. */
function isPassedBy(
  { stages }: Pipeline,
  { executor: { stage }, queries }: Work,
): boolean {
  const cells = stages[stage];
  return queries.every(({ request: { graph } }) =>
    !graph.nodes.some(({ cell }) => cells.includes(cell))
  );
}

function sortByAge(pipelines: Pipeline[]): void {
  if (pipelines.length > 1) pipelines.sort((a, b) => a.oldest - b.oldest || 0);
}
