import {
  anything,
  checkedOptions,
  type Checks,
  listOf,
  ofType,
  positive,
  positiveInteger,
} from "../../base/checked_options.ts";
import { describe } from "../../base/describe.ts";
import type { FrameData, StreamModel } from "../../graph/stream_model.ts";
import { type Dtype, elements } from "../../tensor/tensor.ts";
import type { ActiveSession } from "../core/active_request.ts";
import type { EngineCore } from "../core/engine.ts";
import type { VirtualArrival } from "./virtual_driver.ts";

/** A frame of a load, as `streamLoad` makes them. */
export interface FrameArrival {
  /** Number of its stream. */
  readonly stream: number;
  /** Number of its stream's group: place of its model in a list. */
  readonly group: number;
  /** When it is due; latency counts from here. */
  readonly atNs: number;
}

/** How frames of a load enter an engine. */
export interface StreamArrivalsOptions<F extends FrameArrival> {
  /** Models of the groups, in order. */
  models: readonly StreamModel[];
  /** Rows of a frame; default: zeros, as simulations do not look at them. */
  rows?: (frame: F) => Readonly<Record<string, FrameData>>;
  /** Frames that may wait in a stream for the one under way; default 32, as `ServingEngine.open`. */
  pendingMax?: number;
  /** A frame that is not done so long after it was due is given up; default Infinity. */
  finishNs?: number;
  /** What is asked of a frame besides: `onEnd`, `deadlineNs`. */
  each?: (frame: F) => Pick<VirtualArrival, "onEnd" | "deadlineNs">;
}

/** Frames that may wait, unless told. */
const PENDING_MAX = 32;

const CHECKS: Checks<StreamArrivalsOptions<FrameArrival>> = {
  // Whatever they are, the engine finds out.
  models: listOf(anything),
  rows: ofType("function"),
  pendingMax: positiveInteger,
  finishNs: positive,
  each: ofType("function"),
};

/**
 * Frames of a load as arrivals of `driveVirtual`: a stream's session is opened when its first frame is asked for.
 * @throws TypeError or RangeError on an option that is not one, TypeError when a group has no model, what `EngineCore.sessions.open` throws when a session cannot be opened
 *
 * @example 200 callers, a frame every 8 ms each, on a device where a batch takes 100 us and 5 us a frame
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstmStream } from "@shoal/core";
 * import {
 *   driveVirtual,
 *   EngineCore,
 *   SimExecutor,
 *   streamArrivals,
 *   streamLoad,
 *   TableCost,
 *   Timeline,
 * } from "@shoal/core/simulate";
 *
 * const model = lstmStream({ hidden: 8, features: 4 });
 * const timeline = new Timeline();
 * const executor = new SimExecutor({
 *   timeline,
 *   cost: new TableCost({ lstm_frame: [[1, 105e3], [64, 420e3]] }),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const engine = new EngineCore({ models: [model], policy: cellular({ batchSizeMax: 64 }), executor });
 * let frames = 0;
 * let late = 0;
 * const load = streamLoad({ sources: [{ streams: 200, periodNs: 8e6, jitterNs: 1e6 }], durationNs: 1e9, seed: 1 });
 * driveVirtual(
 *   engine,
 *   timeline,
 *   streamArrivals(engine, load, {
 *     models: [model],
 *     each: ({ atNs }) => ({
 *       onEnd: (_, endNs) => {
 *         frames++;
 *         if (endNs > atNs + 8e6) late++;
 *       },
 *     }),
 *   }),
 * );
 * assert.equal(frames, 200 * 125);
 * assert.equal(late, 0);
 * ```
 */
export function* streamArrivals<F extends FrameArrival>(
  engine: EngineCore,
  load: Iterable<F>,
  options: StreamArrivalsOptions<F>,
): Generator<VirtualArrival, void, undefined> {
  const { models, pendingMax = PENDING_MAX, finishNs = Infinity, each, rows } =
    checkedOptions("streamArrivals()", options, CHECKS, ["models"]);
  const rowsOf = rows ?? zeros(models);
  const sessions: (ActiveSession | undefined)[] = [];
  for (const frame of load) {
    const { stream, group, atNs } = frame;
    const model = models[group];
    if (model === undefined) {
      throw new TypeError(
        `"models" has one for every group of streams, group ${group} has ${
          describe(model)
        }`,
      );
    }
    const session = sessions[stream] ??= engine.sessions.open(
      model,
      pendingMax,
    );
    yield {
      model,
      session,
      input: rowsOf(frame),
      arrivalNs: atNs,
      finishNs: atNs + finishNs,
      ...each?.(frame),
    };
  }
}

/** Frames of zeros, one for each model. */
function zeros(
  models: readonly StreamModel[],
): (frame: FrameArrival) => Readonly<Record<string, FrameData>> {
  const frames = models.map(({ stream }) =>
    Object.fromEntries(
      Object.entries(stream.inputs).map(([name, { dtype, width }]) => [
        name,
        elements(dtype as Dtype, width),
      ]),
    )
  );
  return ({ group }) => frames[group];
}
