/**
 * What a server does, in figures for Prometheus: histograms of time and of batches, requests that run and wait, and what
 * was refused, why. Labels are model, version and policy, and the reason of a refusal: what clients choose is in none.
 */
import { SteadyMap } from "../../base/steady_map.ts";
import { NS_PER_MS, NS_PER_S } from "../../base/units.ts";
import type { Model } from "../../graph/model.ts";
import type { Task } from "../../policy/launch.ts";
import type { Observer, TaskRecord } from "../../policy/records.ts";
import type {
  HostEnding,
  HostObserver,
  ModelVersion,
} from "../host/host_observer.ts";
import type { HostRequest } from "../host/host_request.ts";
import type { ServedModel } from "../host/served_model.ts";
import { servedLabel } from "../host/served_model.ts";
import {
  CounterFamily,
  GaugeFamily,
  HistogramFamily,
  type Labels,
} from "./exposition.ts";
import { reasonOf, type RefusalReason } from "./refusal_reason.ts";

const MS_PER_S = NS_PER_S / NS_PER_MS;

/** From half a millisecond to a minute. */
const SECONDS = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60],
];
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const RATIOS = [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 0.9];

/** What was counted of a model's version, under whatever policies. */
export class ModelTotals {
  served = 0;
  /** Requests by why they have no result. */
  readonly refused: Map<RefusalReason, number> = new Map();
  readonly failed: Map<RefusalReason, number> = new Map();
  /** Seconds of those that were served, as `shoal_request_seconds` and the others have them. */
  requestS = 0;
  queueS = 0;
  executeS = 0;
  /** Tasks that advanced a request. */
  batches = 0;
}

/** Figures of a host. */
export class ServerMetrics implements HostObserver {
  readonly #queue = new HistogramFamily(
    "shoal_queue_seconds",
    "Time from a request's arrival to the start of its first batch, of those that were served.",
    SECONDS,
  );
  readonly #execute = new HistogramFamily(
    "shoal_execute_seconds",
    "Time from the start of a request's first batch to the end of its last one, of those that were served.",
    SECONDS,
  );
  readonly #request = new HistogramFamily(
    "shoal_request_seconds",
    "Time from a request's arrival to its result, of those that were served.",
    SECONDS,
  );
  readonly #batchSize = new HistogramFamily(
    "shoal_batch_size",
    "Rows of a task that advanced a request.",
    ROWS,
  );
  readonly #padding = new HistogramFamily(
    "shoal_padding_ratio",
    "Share of a task's tokens, or rows where there are none, that were computed to fill a shape.",
    RATIOS,
  );
  readonly #running = new GaugeFamily(
    "shoal_requests_running",
    "Requests that were given to the engine and have not ended.",
  );
  readonly #waiting = new GaugeFamily(
    "shoal_requests_waiting",
    "Requests that wait for the engine to have room.",
  );
  readonly #served = new CounterFamily(
    "shoal_requests_served_total",
    "Requests that ended with a result.",
  );
  readonly #refused = new CounterFamily(
    "shoal_requests_refused_total",
    "Requests that were refused before anything of them was computed, by reason.",
  );
  readonly #refusedUnread = new CounterFamily(
    "shoal_requests_refused_unread_total",
    "Requests that were refused before their bodies were read, by reason: of which model is not known.",
  );
  readonly #failed = new CounterFamily(
    "shoal_requests_failed_total",
    "Requests that ended without a result after they were admitted, by reason.",
  );
  /** All that there is. */
  readonly families:
    readonly (CounterFamily | GaugeFamily | HistogramFamily)[] = [
      ...[this.#queue, this.#execute, this.#request],
      ...[this.#batchSize, this.#padding, this.#running, this.#waiting],
      ...[this.#served, this.#refused, this.#refusedUnread, this.#failed],
    ];
  readonly #labels = new WeakMap<ServedModel, Labels>();
  /** Of one that is served under several names: under the first. */
  readonly #ofModel = new WeakMap<Model, Labels>();
  /** Labels with each reason that there was. */
  readonly #reasons = new WeakMap<Labels, Map<string, Labels>>();
  /** Requests that were given to the engine, by label. */
  readonly #started = new SteadyMap<Labels>();
  #policy = "";

  /** By `servedLabel`; models that nobody has asked for are not there. */
  totals(): ReadonlyMap<string, ModelTotals> {
    const all = new Map<string, ModelTotals>();
    function each<Series>(
      family: {
        entries(): Iterable<{ labels: Labels; series: Series }>;
      },
      add: (totals: ModelTotals, series: Series, labels: Labels) => void,
    ) {
      for (const { labels, series } of family.entries()) {
        const label = servedLabel({
          name: labels["model"],
          version: labels["version"],
        });
        const totals = all.get(label) ?? new ModelTotals();
        all.set(label, totals);
        add(totals, series, labels);
      }
    }
    each(this.#served, (totals, { value }) => totals.served += value);
    for (const which of ["refused", "failed"] as const) {
      const family = which === "refused" ? this.#refused : this.#failed;
      each(family, (totals, { value }, { reason }) => {
        const known = reason as RefusalReason;
        const before = totals[which].get(known) ?? 0;
        totals[which].set(known, before + value);
      });
    }
    each(this.#request, (totals, { sum }) => totals.requestS += sum);
    each(this.#queue, (totals, { sum }) => totals.queueS += sum);
    each(this.#execute, (totals, { sum }) => totals.executeS += sum);
    each(this.#batchSize, (totals, { count }) => totals.batches += count);
    return all;
  }

  /** Of these no observer of a host hears. */
  refusedUnread(error: unknown): void {
    this.#refusedUnread.with({ reason: reasonOf(error) }).add(1);
  }

  /** See HostObserver. */
  engine(
    _generation: number,
    models: readonly ServedModel[],
    policy: string,
  ): Observer {
    this.#policy = policy;
    for (const served of models) this.#labelsOf(served);
    return { task: (task, record) => this.#ran(task, record) };
  }

  /** See HostObserver. */
  forget({ name: model, version }: ModelVersion): void {
    for (const family of this.families) family.forget({ model, version });
  }

  /** See HostObserver. */
  arrived({ served }: HostRequest): void {
    this.#waiting.with(this.#labelsOf(served)).add(1);
  }

  /** See HostObserver. */
  started({ served, label }: HostRequest): void {
    const labels = this.#labelsOf(served);
    this.#waiting.with(labels).add(-1);
    this.#running.with(labels).add(1);
    this.#started.set(label, labels);
  }

  /** See HostObserver. */
  ended(request: HostRequest, ending: HostEnding): void {
    const labels = this.#labelsOf(request.served);
    const isStarted = this.#started.delete(request.label);
    const gauge = isStarted ? this.#running : this.#waiting;
    gauge.with(labels).add(-1);
    const { outcome, error, timing, beganNs, endNs } = ending;
    if (outcome !== "done") {
      const family = outcome === "refused" ? this.#refused : this.#failed;
      family.with(this.#withReason(labels, reasonOf(error))).add(1);
      return;
    }
    const { arrivalNs } = request;
    this.#served.with(labels).add(1);
    this.#request.with(labels).observe((endNs - arrivalNs) / NS_PER_S);
    if (timing === undefined || beganNs === undefined) return;
    this.#queue.with(labels).observe(
      (beganNs - arrivalNs) / NS_PER_S + timing.queuedMs / MS_PER_S,
    );
    this.#execute.with(labels).observe(timing.ranMs / MS_PER_S);
  }

  #ran({ nodes }: Task, { rows, padding, tokens }: TaskRecord): void {
    if (nodes.length === 0) return;
    const { label, model } = nodes[0].graph.owner;
    const started = label === undefined ? undefined : this.#started.get(label);
    // Rows of requests to several names of a model share batches: one is its first row's.
    const labels = started ?? this.#ofModel.get(model);
    // A model that no request of the host has asked for is nobody's here.
    if (labels === undefined) return;
    const [done, filled] = tokens
      ? [tokens.done, tokens.padding]
      : [rows, padding];
    // All rows were void: nothing was computed.
    if (done + filled === 0) return;
    this.#batchSize.with(labels).observe(rows);
    this.#padding.with(labels).observe(filled / (done + filled));
  }

  #withReason(labels: Labels, reason: string): Labels {
    const known = this.#reasons.get(labels) ?? new Map<string, Labels>();
    this.#reasons.set(labels, known);
    const found = known.get(reason) ?? { ...labels, reason };
    known.set(reason, found);
    return found;
  }

  #labelsOf(served: ServedModel): Labels {
    let labels = this.#labels.get(served);
    if (labels === undefined) {
      const { model, name, version } = served;
      // Of the policy that it was first served under: what has begun has to end under the same labels.
      labels = { model: name, version, policy: this.#policy };
      this.#labels.set(served, labels);
      if (!this.#ofModel.has(model)) this.#ofModel.set(model, labels);
    }
    return labels;
  }
}
