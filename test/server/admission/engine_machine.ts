/**
 * An engine on virtual time behind an admission: requests join and leave batches cell by cell, so that who comes later
 * delays who came before. Tasks take what a device takes that others use as well, whose speed changes by chance.
 */
import { EngineCore } from "../../../src/engine/core/engine.ts";
import { SimExecutor } from "../../../src/engine/virtual/sim_executor.ts";
import { Timeline } from "../../../src/engine/virtual/timeline.ts";
import { bert } from "../../../src/models/bert.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import type { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import type { TimeSource } from "../../../src/server/admission/time_source.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import type { HostRequest } from "../../../src/server/host/host_request.ts";
import type { ServedModel } from "../../../src/server/host/served_model.ts";
import type { Ended } from "./machine.ts";

const MODEL = bert({ layers: 4, hidden: 8, heads: 1, vocabulary: 10 });

/** Of the cells that work on tokens: an embedding, and two in each layer. */
const TOKEN_CELLS = 9;

/** Time of a timeline, as an admission sees it. */
class TimelineSource implements TimeSource {
  constructor(readonly timeline: Timeline) {}

  nowNs(): number {
    return this.timeline.nowNs;
  }

  at(ns: number, call: () => void): () => void {
    if (ns === Infinity) return () => {};
    let isOff = false;
    const atNs = Math.max(Math.ceil(ns), this.timeline.nowNs);
    this.timeline.at(atNs, 1, () => isOff || call());
    return () => isOff = true;
  }
}

export class EngineMachine {
  readonly ended: Ended[] = [];
  readonly timeline = new Timeline();
  readonly admission: CostAdmission;
  readonly #core: EngineCore;
  readonly #served: ServedModel = servedTokens(MODEL, { name: "m" });
  #requests = 0;

  /**
   * @param perTokenNs of a request in all cells, whatever it is batched with
   * @param slowness by which factor a task takes longer than that
   */
  constructor(
    { admission, perTokenNs, slowness }: {
      readonly admission: (time: TimeSource) => CostAdmission;
      readonly perTokenNs: number;
      readonly slowness: (nowNs: number) => number;
    },
  ) {
    const { timeline } = this;
    this.admission = admission(new TimelineSource(timeline));
    const executor = new SimExecutor({
      timeline,
      cost: {
        latencyNs(_cell, rows, extents) {
          const tokens = Array.isArray(extents)
            ? extents.reduce((sum, { length }) => sum + length, 0)
            : rows;
          const ns = 50e3 + tokens * perTokenNs / TOKEN_CELLS;
          return Math.round(ns * slowness(timeline.nowNs));
        },
      },
      onCompleted: (...ended) => this.#core.completed(...ended),
    });
    this.#core = new EngineCore({
      models: [MODEL],
      policy: cellular({ batchSizeMax: 32 }),
      executor,
      observer: this.admission.engine(),
    });
  }

  async send(size: number): Promise<void> {
    const label = `${this.#requests++}`;
    const arrivalNs = this.timeline.nowNs;
    const input = { tokens: new Int32Array(size) };
    const request: HostRequest = {
      ...{ id: label, label, finishNs: Infinity, priority: 0 },
      ...{ served: this.#served, input, arrivalNs },
    };
    let release: (() => void) | undefined;
    let error: Error | undefined;
    try {
      const admitted = this.admission.admit(request);
      release = typeof admitted === "function" ? admitted : await admitted;
      await new Promise<void>((onEnd) =>
        this.#core.submit({
          model: MODEL,
          input,
          arrivalNs,
          label,
          onEnd: () => onEnd(),
        })
      );
    } catch (thrown) {
      error = thrown as Error;
    }
    const endNs = this.timeline.nowNs;
    const outcome = error ? "refused" : "done";
    this.admission.ended(request, { outcome, endNs, ...(error && { error }) });
    release?.();
    this.ended.push({
      label,
      size,
      outcome,
      arrivalNs,
      endNs,
      ...(error && { error }),
    });
  }

  /** Lets something happen at a time. */
  at(atNs: number, call: () => void): void {
    this.timeline.at(Math.round(atNs), 1, call);
  }

  /** Lets happen what is due until then. */
  async until(ns: number): Promise<void> {
    let isOver = false;
    this.timeline.at(ns, 2, () => isOver = true);
    while (!isOver) {
      await settled();
      this.#core.pump(this.timeline.nowNs);
      this.timeline.advance();
    }
  }
}

/** Microtasks that were queued, and what they queued, have run. */
async function settled(): Promise<void> {
  for (let i = 0; i < 12; i++) await undefined;
}
