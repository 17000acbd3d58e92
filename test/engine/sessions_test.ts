/**
 * Streams on virtual time: opened, fed, parked, resumed, snapshotted, reset and closed at random among others, under
 * every policy, each gives the bits of a stream alone.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import type { ActiveSession } from "../../src/engine/core/active_request.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { PairedExecutor } from "../../src/engine/virtual/paired_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveTimeline } from "../../src/engine/virtual/virtual_driver.ts";
import type { StreamModel } from "../../src/graph/stream_model.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { propertyRuns } from "../property_runs.ts";
import { anyOptions } from "./arbitraries.ts";
import { kernels } from "./harness.ts";
import { STREAMED } from "./stream_models.ts";
import { anyStreamOp } from "./stream_ops.ts";
import {
  type AnyStream,
  type Request,
  type StreamOp,
  StreamPlayer,
  type StreamWorld,
} from "./stream_player.ts";

/** Deadlines that are missed now and then: a batch takes some thousand ns. */
const LATE_NS = 3000;

interface VirtualOptions {
  readonly policy: Policy;
  readonly workers: number;
  readonly pendingMax: number;
  readonly slotBytes: number;
  readonly rowNs: number;
}

/** Sessions of an engine on virtual time. */
class VirtualWorld implements StreamWorld {
  readonly pendingMax: number;
  readonly isTight: boolean;
  readonly timeline = new Timeline();
  readonly engine: EngineCore;
  /** Rows of the largest batch. */
  most = 0;

  constructor(
    { policy, workers, pendingMax, slotBytes, rowNs }: VirtualOptions,
  ) {
    this.pendingMax = pendingMax;
    this.isTight = slotBytes < 2 ** 20;
    const models = STREAMED.map(({ model }) => model);
    const executor = new PairedExecutor({
      timeline: this.timeline,
      models,
      kernels,
      workers,
      slotBytes,
      cost: { latencyNs: (_cell, rows) => 1000 + rowNs * rows },
      onCompleted: (task, startNs, endNs) => {
        this.most = Math.max(this.most, task.nodes.length);
        this.engine.completed(task, startNs, endNs);
      },
    });
    this.engine = new EngineCore({ models, policy, executor });
  }

  open(model: StreamModel, snapshot?: Uint8Array): AnyStream {
    const session = this.engine.sessions.open(
      model,
      this.pendingMax,
      snapshot,
      // Some make room for others.
      this.engine.sessions.count % 2 === 1,
    );
    return new VirtualStream(this, session);
  }
}

class VirtualStream implements AnyStream {
  readonly #world: VirtualWorld;
  readonly #session: ActiveSession;

  constructor(world: VirtualWorld, session: ActiveSession) {
    this.#world = world;
    this.#session = session;
  }

  get frames(): number {
    return this.#session.framesDone;
  }

  get pending(): number {
    return this.#session.waiting;
  }

  push(
    input: unknown,
    late: boolean,
    onEnd: Parameters<AnyStream["push"]>[2],
  ): () => void {
    const { engine, timeline } = this.#world;
    const session = this.#session;
    const { nowNs } = timeline;
    try {
      const request = engine.submit({
        model: session.model,
        session,
        input,
        arrivalNs: nowNs,
        ...(late && { finishNs: nowNs + LATE_NS }),
        onEnd,
      });
      return () =>
        engine.cancel(
          request,
          timeline.nowNs,
          new DOMException("Cancelled", "AbortError"),
        );
    } catch (error) {
      onEnd({ error });
      return () => {};
    }
  }

  ask(what: Request, onEnd: (error?: unknown) => void): void {
    const { engine: { sessions }, engine, timeline } = this.#world;
    const session = this.#session;
    if (what === "close") session.isClosed = true;
    this.#after(
      () =>
        what === "reject" ? sessions.close(session) : sessions[what](session),
      onEnd,
    );
    if (what !== "reject") return;
    const { line, current } = session;
    for (const request of [current, ...line]) {
      if (request === undefined || "run" in request) continue;
      engine.cancel(request, timeline.nowNs, new ClosedByTest());
    }
  }

  snapshot(onEnd: Parameters<AnyStream["snapshot"]>[0]): void {
    this.#after(
      () => onEnd(this.#world.engine.sessions.snapshot(this.#session)),
      (error) => error === undefined || onEnd(undefined, error),
    );
  }

  #after(run: () => void, onEnd: (error?: unknown) => void): void {
    this.#world.engine.sessions.after(this.#session, {
      run() {
        try {
          run();
        } catch (error) {
          return onEnd(error);
        }
        onEnd();
      },
      abandon: onEnd,
    });
  }
}

class ClosedByTest extends Error {
  override name = "ClosedError";
}

interface TimedOp extends StreamOp {
  readonly gapNs: number;
}

/** @returns frames done, and rows of the largest batch */
function play(
  options: VirtualOptions,
  ops: readonly TimedOp[],
): { done: number; most: number } {
  const world = new VirtualWorld(options);
  const { timeline, engine } = world;
  const player = new StreamPlayer(world);
  let atNs = 0;
  for (const op of ops) {
    atNs += op.gapNs;
    timeline.at(atNs, 1, () => player.play(op));
  }
  timeline.at(atNs, 1, () => player.end());
  driveTimeline(engine, timeline);
  player.check();
  assert.equal(engine.active, 0, "no frame is left");
  assert.equal(engine.tasksInFlight, 0);
  assert.equal(engine.sessions.count, 0, "all are closed");
  return { done: player.done, most: world.most };
}

const gapNs = fc.oneof(fc.constant(0), fc.nat(3000));
const anyOps = fc.array(
  fc.tuple(anyStreamOp, gapNs).map(([op, gapNs]) => ({ ...op, gapNs })),
  { minLength: 1, maxLength: 60, size: "max" },
);

for (const [name, entry] of Object.entries(POLICIES)) {
  Deno.test(`${name}: streams among others give the bits of a stream alone (paired)`, () => {
    let done = 0;
    let most = 0;
    fc.assert(
      fc.property(
        anyOptions(name),
        anyOps,
        fc.record({
          workers: fc.integer({ min: 1, max: 3 }),
          pendingMax: fc.constantFrom(1, 2, 8),
          slotBytes: fc.constantFrom(2048, 2 ** 20),
          rowNs: fc.nat(300),
        }),
        (options, ops, world) => {
          const ran = play({ policy: entry.build(options), ...world }, ops);
          done += ran.done;
          most = Math.max(most, ran.most);
        },
      ),
      { numRuns: propertyRuns(60) },
    );
    assert(done > 0, "frames are done");
    assert(name === "serial" || most > 1, "frames of streams share batches");
  });
}

Deno.test("500 streams, opened, fed, parked, resumed, reset and closed at random", () => {
  const seed = 16;
  const prng = new Prng(seed);
  const below = (n: number) => Math.floor(prng.float() * n);
  const kinds: StreamOp["does"][] = [
    ...Array.from({ length: 30 }, () => "push" as const),
    ...["burst", "burst", "late", "cancel", "snapshot", "restore"] as const,
    ...["reset", "park", "park", "resume", "close", "reject", "open"] as const,
  ];
  const ops: TimedOp[] = Array.from({ length: 6500 }, (_, i) => ({
    does: i < 500 ? "open" : kinds[below(kinds.length)],
    who: below(1e6),
    value: i < 500 ? i : below(1e6),
    gapNs: below(600),
  }));
  const { done, most } = play({
    policy: cellular({ batchSizeMax: 64 }),
    workers: 2,
    pendingMax: 4,
    slotBytes: 2 ** 20,
    rowNs: 20,
  }, ops);
  console.log(`seed ${seed}: ${done} frames done, batches of up to ${most}`);
  assert(done > 2000 && most > 8);
});
