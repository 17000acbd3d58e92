/**
 * Scheduling policies made of the three meta operations: the user-defined part of DVABatch.
 * Source: DVABatch, section 7.2 and Fig. 12 (`Schedule`, lines 12-21).
 */
import { log } from "../../base/elementary/logarithm.ts";
import { inputLength } from "../common/lockstep.ts";
import type { CompWait } from "./comp_wait.ts";
import type { Query } from "./query_table.ts";

/** Queries that are in no batch, oldest first. */
export interface WaitingQueries extends Iterable<Query> {
  /** How many there are. */
  readonly size: number;
  /** The oldest one; undefined when there is none. */
  readonly first: Query | undefined;
}

/** What a schedule may know when queries wait. */
export interface AdmitView {
  /** Now, as `EngineView` has it. */
  readonly nowNs: number;
  /** At least one. */
  readonly waiting: WaitingQueries;
  /** Queries in batches. */
  readonly inFlight: number;
  /** A batch formed now could start now. */
  readonly canStart: boolean;
  /** The latest batch, if the rules of section 5.2.2 let it be stretched. */
  readonly stretchable?: {
    /** Queries that it has. */
    readonly size: number;
    /** Queries that it can take. */
    readonly room: number;
    /** Start of its first run; NaN when it has not begun. */
    readonly startedNs: number;
  };
}

/** What becomes of waiting queries; `why` is for the decision log. */
export type AdmitChoice =
  /** Each group becomes a batch. */
  | {
    readonly op: "new";
    readonly groups: readonly Query[][];
    readonly why: string;
  }
  /** They join the latest batch and catch up with it. */
  | {
    readonly op: "stretch";
    readonly queries: readonly Query[];
    readonly why: string;
  }
  /** Nothing before `untilNs` unless something happens. */
  | { readonly op: "wait"; readonly untilNs: number; readonly why: string };

/**
 * The public hook: implement it for a policy of your own (DVABatch, Fig. 12), the option `schedule` of `dvabatch`. Who
 * takes nobody, a query that does not wait, or more than a batch can be stretched by, ends the engine with an error, as
 * do sizes that do not sum up.
 */
export interface DvaSchedule {
  /** Asked while queries wait; undefined: nothing before the next event. */
  admit(view: AdmitView): AdmitChoice | undefined;
  /**
   * Asked when a batch has completed a stage: sizes of the batches it is split into, `[size]` to keep it
   * whole. Asked ahead, too, to know whether a split is to come; it must depend on its arguments only.
   */
  split(size: number, stage: number): readonly number[];
}

export interface ScheduleOptions {
  batchSizeMax: number;
  /** Time the oldest waiting query waits for company, unless the batch is full. */
  windowNs: number;
  /** T_remain: time of all stages behind `stage` at a batch size, ns. */
  remainingNs: (stage: number, size: number) => number;
  /** T_comp_wait: a batch that started longer ago is not stretched. */
  compWaitNs: CompWait;
  /** Policy II: share by which two halves may take longer than the whole and still are preferred. */
  splitTolerance: number;
  /** Policy I: ratio of input lengths from which on queries never share a batch. */
  lengthRatio: number;
}

/** Which of the three policies; "none" batches like the baselines, stage by stage. */
export const DVA_POLICIES = ["none", "I", "II", "III", "II+III"] as const;

export type DvaPolicy = (typeof DVA_POLICIES)[number];

export function dvaSchedule(
  policy: DvaPolicy,
  options: ScheduleOptions,
): DvaSchedule {
  const whole = (size: number): readonly number[] => [size];
  const halving = (size: number, stage: number) => halves(size, stage, options);
  switch (policy) {
    case "none":
      return { admit: (view) => admitNew(view, options), split: whole };
    case "I":
      return { admit: (view) => admitClusters(view, options), split: whole };
    case "II":
      return { admit: (view) => admitNew(view, options), split: halving };
    case "III":
      return { admit: (view) => admitStretch(view, options), split: whole };
    case "II+III":
      return { admit: (view) => admitStretch(view, options), split: halving };
  }
}

/** The window of traditional batching: undefined once it is over or the batch is full. */
function openWindow(
  { nowNs, waiting }: AdmitView,
  { batchSizeMax, windowNs }: ScheduleOptions,
): AdmitChoice | undefined {
  const untilNs = waiting.first!.request.arrivalNs + windowNs;
  if (waiting.size >= batchSizeMax || nowNs >= untilNs) return undefined;
  return { op: "wait", untilNs, why: "the batch time window is open" };
}

function admitNew(
  view: AdmitView,
  options: ScheduleOptions,
): AdmitChoice | undefined {
  if (!view.canStart) return undefined;
  const open = openWindow(view, options);
  if (open) return open;
  const queries = first(view.waiting, options.batchSizeMax);
  const why = queries.length === options.batchSizeMax
    ? "the batch is full"
    : "the window is over";
  return { op: "new", groups: [queries], why };
}

/**
 * Policy I: queries of similar input size share a batch; the batches run in parallel. Queries in flight
 * never exceed the maximum batch size.
 * Assumption: as under the other policies, batches are formed when the first executor can take one; the
 * queries of a longer wait share larger ones.
 * Assumption: similar means of one class of lengths, each class `lengthRatio` times as long as the last.
 */
function admitClusters(
  view: AdmitView,
  options: ScheduleOptions,
): AdmitChoice | undefined {
  const room = options.batchSizeMax - view.inFlight;
  if (room <= 0 || !view.canStart) return undefined;
  const open = openWindow(view, options);
  if (open) return open;
  const clusters = new Map<number, Query[]>();
  for (const query of first(view.waiting, room)) {
    const length = Math.max(1, inputLength(query.request));
    const size = Math.ceil(
      log(length) / log(options.lengthRatio) - 1e-9,
    );
    const cluster = clusters.get(size);
    if (cluster) cluster.push(query);
    else clusters.set(size, [query]);
  }
  const groups = [...clusters].sort(([a], [b]) => a - b).map(([, group]) =>
    group
  );
  return {
    op: "new",
    groups,
    why: `Policy I: ${groups.length} classes of input length`,
  };
}

/** Policy III: waiting queries stretch the latest batch; those that cannot form a new one. */
function admitStretch(
  view: AdmitView,
  options: ScheduleOptions,
): AdmitChoice | undefined {
  const { stretchable, nowNs, waiting } = view;
  if (!stretchable) return admitNew(view, options);
  const { size, room, startedNs } = stretchable;
  const hasBegun = !Number.isNaN(startedNs);
  const processedNs = hasBegun ? nowNs - startedNs : 0;
  const compWaitNs = options.compWaitNs(size, Math.min(waiting.size, room));
  if (processedNs > compWaitNs) return admitNew(view, options);
  const why = hasBegun
    ? `Policy III: the latest batch began ${processedNs} ns ago, T_comp_wait is ${compWaitNs} ns`
    : "Policy III: the latest batch has not begun";
  return { op: "stretch", queries: first(waiting, room), why };
}

/**
 * Policy II (section 7.2, Fig. 13): halves while T_remain(b) >= 2 T_remain(b / 2).
 * Assumption: of an odd batch the larger half goes first, and the sum of both times counts.
 */
function halves(
  size: number,
  stage: number,
  options: ScheduleOptions,
): number[] {
  if (size === 1) return [1];
  const large = Math.ceil(size / 2);
  const small = size - large;
  const { remainingNs } = options;
  const wholeNs = remainingNs(stage, size);
  if (
    wholeNs === 0 ||
    wholeNs < (1 - options.splitTolerance) *
        (remainingNs(stage, large) + remainingNs(stage, small))
  ) return [size];
  return [...halves(large, stage, options), ...halves(small, stage, options)];
}

function first(waiting: WaitingQueries, most: number): Query[] {
  const taken: Query[] = [];
  for (const query of waiting) {
    if (taken.length === most) break;
    taken.push(query);
  }
  return taken;
}
