/**
 * What a server counts, under Triton's names (its docs/user_guide/metrics.md, and core's src/metrics.cc and
 * src/infer_stats.cc, 2.73.0), so that dashboards of Triton's show it.
 * Deviation: a request is in many batches, of cells. `nv_inference_exec_count` counts these, so that
 * `nv_inference_count / nv_inference_exec_count` is no mean batch size; `shoal_batch_size` has that.
 * Deviation: `nv_inference_request_failure` has every request that reached a model and got no result. Triton leaves out
 * those that find the queue full, which are REJECTED here, and times requests out only in the queue.
 * Deviation: a request no longer counts as pending when something of it is given to a worker, which may still have
 * another batch before it.
 * Reading and writing tensors is not timed: `nv_inference_compute_input_duration_us` and
 * `nv_inference_compute_output_duration_us` are not there.
 */
import type { Observer } from "../../policy/records.ts";
import type {
  HostEnding,
  HostObserver,
  ModelVersion,
} from "../host/host_observer.ts";
import type { HostRequest } from "../host/host_request.ts";
import { servedLabel, type ServedModel } from "../host/served_model.ts";
import {
  CounterFamily,
  type Family,
  GaugeFamily,
} from "../observe/exposition.ts";
import type { PendingRequests } from "../observe/pending_requests.ts";
import type { RefusalReason } from "../observe/refusal_reason.ts";
import { ModelTotals, type ServerMetrics } from "../observe/server_metrics.ts";

const US_PER_S = 1e6;

/** Triton's FailureReason. */
const REASONS = ["REJECTED", "CANCELED", "BACKEND", "OTHER"] as const;

type FailureReason = (typeof REASONS)[number];

/** What a model is called, and what only Triton counts. */
interface Known {
  readonly labels: { readonly model: string; readonly version: string };
  /** Rows of requests that were done. */
  inferences: number;
  /** Whether its engine tells what it does. */
  isHeard: boolean;
}

/** Writes them, of a host's figures. */
export class TritonMetrics implements HostObserver {
  readonly #metrics: ServerMetrics;
  readonly #pending: PendingRequests;
  /** By `servedLabel`. */
  readonly #known = new Map<string, Known>();

  constructor(metrics: ServerMetrics, pending: PendingRequests) {
    this.#metrics = metrics;
    this.#pending = pending;
  }

  /** See HostObserver. */
  engine(_generation: number, models: readonly ServedModel[]): Observer {
    // Counters are there, and 0, before the first request, as Triton's are.
    for (const served of models) this.#of(served).isHeard = true;
    return {};
  }

  /** See HostObserver. */
  forget(version: ModelVersion): void {
    this.#known.delete(servedLabel(version));
  }

  /** See HostObserver. */
  ended({ served, input }: HostRequest, { outcome }: HostEnding): void {
    const known = this.#of(served);
    if (outcome === "done") known.inferences += served.rowsOf?.(input) ?? 1;
  }

  /** As of now. */
  families(): readonly Family[] {
    const success = new CounterFamily(
      "nv_inference_request_success",
      "Requests that ended with a result, of whatever batch size.",
    );
    const failure = new CounterFamily(
      "nv_inference_request_failure",
      "Requests that ended without a result, of whatever batch size.",
    );
    const count = new CounterFamily(
      "nv_inference_count",
      "Rows of requests that ended with a result.",
    );
    const executions = new CounterFamily(
      "nv_inference_exec_count",
      "Batches that were executed: of cells, so that a request is in many.",
    );
    const duration = (what: string, help: string) =>
      new CounterFamily(
        `nv_inference_${what}_duration_us`,
        `${help}, in microseconds, of requests that ended with a result.`,
      );
    const request = duration("request", "Time from arrival to result");
    const queue = duration("queue", "Time from arrival to the first batch");
    const compute = duration(
      "compute_infer",
      "Time from the start of the first batch to the end of the last one",
    );
    const pending = new GaugeFamily(
      "nv_inference_pending_request_count",
      "Requests of which nothing has been given to a worker yet.",
    );
    const all = this.#metrics.totals();
    for (const [label, { labels, inferences, isHeard }] of this.#known) {
      const totals = all.get(label) ?? new ModelTotals();
      success.with(labels).value = totals.served;
      for (const reason of REASONS) failure.with({ ...labels, reason });
      for (const outcome of ["refused", "failed"] as const) {
        for (const [why, times] of totals[outcome]) {
          const reason = reasonFor(outcome, why);
          failure.with({ ...labels, reason }).add(times);
        }
      }
      count.with(labels).value = inferences;
      request.with(labels).value = microseconds(totals.requestS);
      queue.with(labels).value = microseconds(totals.queueS);
      compute.with(labels).value = microseconds(totals.executeS);
      if (!isHeard) continue;
      executions.with(labels).value = totals.batches;
      pending.with(labels);
    }
    for (const [served, waiting] of this.#pending.counts()) {
      const { labels, isHeard } = this.#of(served);
      if (isHeard) pending.with(labels).add(waiting);
    }
    const times = [request, queue, compute];
    return [success, failure, count, executions, ...times, pending];
  }

  #of(served: ServedModel): Known {
    const label = servedLabel(served);
    let known = this.#known.get(label);
    if (known === undefined) {
      const { name: model, version } = served;
      known = { labels: { model, version }, inferences: 0, isHeard: false };
      this.#known.set(label, known);
    }
    return known;
  }
}

function reasonFor(
  outcome: "refused" | "failed",
  why: RefusalReason,
): FailureReason {
  switch (why) {
    case "full":
    case "late":
    case "displaced":
    case "deadline":
      return "REJECTED";
    case "cancelled":
      return "CANCELED";
    // A row of the request, or the worker that ran it.
    case "input":
    case "internal":
      return outcome === "failed" ? "BACKEND" : "OTHER";
    default:
      return "OTHER";
  }
}

function microseconds(seconds: number): number {
  return Math.round(seconds * US_PER_S);
}
