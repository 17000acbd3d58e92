/** A machine on virtual time behind an admission: what a host and an engine do to it, without either. */
import type { Model } from "../../../src/graph/model.ts";
import type { Task } from "../../../src/policy/launch.ts";
import type { TaskRecord } from "../../../src/policy/records.ts";
import { DeadlineError } from "../../../src/engine/core/errors.ts";
import type { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import type { HostRequest } from "../../../src/server/host/host_request.ts";
import type { ServedModel } from "../../../src/server/host/served_model.ts";
import type { VirtualTime } from "./virtual_time.ts";

/** What a batch of requests of these sizes takes. */
export type BatchNs = (sizes: readonly number[]) => number;

export interface Sent {
  readonly model?: string;
  readonly size: number;
  readonly finishNs?: number;
  readonly sloMs?: number;
  readonly priority?: number;
  readonly signal?: AbortSignal;
}

export interface Ended {
  readonly label: string;
  readonly size: number;
  readonly outcome: "done" | "refused" | "failed";
  readonly arrivalNs: number;
  readonly endNs: number;
  readonly error?: Error;
}

/** Whether it is done, at most so late after its arrival. */
export function isInTime(
  { outcome, arrivalNs, endNs }: Ended,
  sloNs: number,
): boolean {
  return outcome === "done" && endNs - arrivalNs <= sloNs;
}

/** Tokens of all of them. */
export function tokensOf(ended: readonly Ended[]): number {
  return ended.reduce((sum, { size }) => sum + size, 0);
}

interface Running {
  readonly request: HostRequest;
  readonly size: number;
  readonly done: (error?: Error) => void;
}

/** One worker that computes what is there in batches, first come first served. */
export class Machine {
  readonly ended: Ended[] = [];
  /** Labels in the order in which batches had them. */
  readonly order: string[] = [];
  readonly #models = new Map<string, ServedModel>();
  #queue: Running[] = [];
  #isBusy = false;
  #requests = 0;

  constructor(
    readonly time: VirtualTime,
    readonly admission: CostAdmission,
    readonly batchSizeMax: number,
    readonly batchNs: BatchNs,
  ) {}

  /** Of the requests that have ended, those that are done at most so late after their arrival. */
  inTime(sloNs: number): number {
    return this.ended.filter((one) => isInTime(one, sloNs)).length;
  }

  served(name: string): ServedModel {
    let served = this.#models.get(name);
    if (served === undefined) {
      served = { name, version: "1", model: { name } as Model } as ServedModel;
      this.#models.set(name, served);
    }
    return served;
  }

  async send(
    { model = "m", size, finishNs = Infinity, priority = 0, signal, sloMs }:
      Sent,
  ): Promise<Ended> {
    const label = `${this.#requests++}`;
    const request: HostRequest = {
      ...{ id: label, label, finishNs, priority },
      served: this.served(model),
      input: { tokens: new Uint8Array(size) },
      arrivalNs: this.time.nowNs(),
      ...(signal && { signal }),
      ...(sloMs !== undefined && { sloMs }),
    };
    let release: (() => void) | undefined;
    let error: Error | undefined;
    try {
      const admitted = this.admission.admit(request);
      release = typeof admitted === "function" ? admitted : await admitted;
      await this.#run(request, size);
    } catch (thrown) {
      error = thrown as Error;
    }
    const outcome = error ? release ? "failed" : "refused" : "done";
    const endNs = this.time.nowNs();
    const { arrivalNs } = request;
    this.admission.ended(request, { outcome, endNs, error });
    release?.();
    const ended = { label, size, outcome, arrivalNs, endNs, error } as const;
    this.ended.push(ended);
    return ended;
  }

  #run(request: HostRequest, size: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const running: Running = {
        request,
        size,
        done: (error) => error ? reject(error) : resolve(),
      };
      this.#queue.push(running);
      const end = (error: Error) => {
        this.#queue = this.#queue.filter((other) => other !== running);
        running.done(error);
      };
      request.signal?.addEventListener(
        "abort",
        () => end(request.signal!.reason),
      );
      this.time.at(
        request.finishNs,
        () => end(new DeadlineError("late", "finish")),
      );
      if (!this.#isBusy) this.#next();
    });
  }

  #next(): void {
    const batch = this.#queue.slice(0, this.batchSizeMax);
    this.#isBusy = batch.length > 0;
    if (!this.#isBusy) return;
    this.#queue = this.#queue.slice(batch.length);
    const startNs = this.time.nowNs();
    const endNs = startNs + this.batchNs(batch.map(({ size }) => size));
    this.order.push(...batch.map(({ request }) => request.label));
    this.time.at(endNs, () => {
      const nodes = batch.map(({ request, size }) => ({
        length: size,
        graph: { owner: { label: request.label } },
      }));
      this.admission.engine().task!(
        { nodes } as unknown as Task,
        { startNs, endNs } as TaskRecord,
      );
      for (const { done } of batch) done();
      // Who hears of it asks for the next one first.
      this.time.at(endNs, () => this.#next());
    });
  }
}
