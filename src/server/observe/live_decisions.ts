/**
 * The decision log of a server that runs: what became of its last requests, and what was decided while they were there.
 * In the words of the log of a simulated run (`report/decision_log.ts`), which it keeps for a window.
 */
import { Fifo } from "../../base/fifo.ts";
import { SteadyMap } from "../../base/steady_map.ts";
import { NS_PER_MS, nsToMs } from "../../base/units.ts";
import { wallNs } from "../../engine/wall/clock.ts";
import type { Observer } from "../../policy/records.ts";
import { tee } from "../../metrics/tee.ts";
import { DecisionLog, type LoggedLaunch } from "../../report/decision_log.ts";
import { NotFoundError } from "../host/errors.ts";
import type { HostEnding, HostObserver } from "../host/host_observer.ts";
import type { HostRequest } from "../host/host_request.ts";
import type { ServedModel } from "../host/served_model.ts";
import { reasonOf } from "./refusal_reason.ts";

/** Launches that are kept for each request that is, and as many waits. */
const DECISIONS_PER_REQUEST = 16;

/** Rows of a request that are told of, the last ones: it may have hundreds of thousands. */
const ROWS_MAX = 64;

/** A launch that a request was in. */
export interface ExplainedLaunch {
  /** The engine's number. */
  readonly launch: number;
  /** From the request's arrival to the decision. */
  readonly at_ms: number;
  /** From there to the end of its last task. */
  readonly ran_ms: number;
  readonly worker: number;
  /** Names of the cells, each once. */
  readonly cells: readonly string[];
  /** Requests in it, this one's among them; the engine's numbers. */
  readonly requests: readonly number[];
  /** The rule that fired. */
  readonly why: string;
}

/** Why a request waited, with whom it ran, and how it ended. */
export interface Explanation {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  /** Name of the policy that decided; none of a request that no engine had. */
  readonly policy?: string;
  readonly outcome: HostEnding["outcome"];
  /** Of one that was refused or failed: why, in a word. */
  readonly reason?: string;
  /** From arrival to end. */
  readonly took_ms: number;
  /** From arrival to when the engine had it. */
  readonly admitted_ms?: number;
  /** The engine's numbers: a request of several rows has several, of which the last 64 are told. */
  readonly requests: readonly number[];
  readonly launches: readonly ExplainedLaunch[];
  /** The same in words, with what was decided while it waited, a line each. */
  readonly text: readonly string[];
}

/** A request that is there, or is kept: nothing that holds its input, its answer, its connection or its model. */
interface Kept {
  readonly request: Pick<HostRequest, "id" | "arrivalNs" | "key"> & {
    readonly model: string;
    readonly version: string;
  };
  startNs: number | undefined;
  ending: Ending | undefined;
  log: DecisionLog | undefined;
  /** The engine's numbers of its last rows, if it had any. */
  ids: Fifo<number> | undefined;
  rows: number;
}

/** How a request ended, and, if it is not done, why. */
interface Ending extends Pick<HostEnding, "outcome" | "endNs"> {
  readonly reason: string | undefined;
}

/** Keeps the last requests of a host, and the decisions around them. */
export class LiveDecisions implements HostObserver {
  /** Those that have not ended, by label. */
  readonly #present = new SteadyMap<Kept>();
  readonly #ended = new Fifo<Kept>();

  /** @param requestsMax requests that are kept when they have ended; positive */
  constructor(readonly requestsMax: number) {}

  /** See HostObserver. */
  engine(
    _generation: number,
    _models: readonly ServedModel[],
    policy: string,
  ): Observer {
    const log = new DecisionLog(policy, {
      // Rows of requests are requests of their own there.
      requestsMax: 4 * this.requestsMax,
      decisionsMax: DECISIONS_PER_REQUEST * this.requestsMax,
    });
    return tee(log, {
      request: ({ id, label }) => {
        const kept = label === undefined ? undefined : this.#present.get(label);
        if (kept === undefined) return;
        kept.rows++;
        const ids = kept.ids ??= new Fifo();
        ids.push(id);
        if (ids.size > ROWS_MAX) ids.shift();
        kept.log = log;
      },
    });
  }

  /** See HostObserver. */
  arrived({ label, id, served, arrivalNs, key }: HostRequest): void {
    const { name: model, version } = served;
    this.#present.set(label, {
      request: {
        ...{ id, model, version, arrivalNs },
        ...(key !== undefined && { key }),
      },
      startNs: undefined,
      ending: undefined,
      log: undefined,
      ids: undefined,
      rows: 0,
    });
  }

  /** See HostObserver. */
  started({ label }: HostRequest): void {
    const kept = this.#present.get(label);
    if (kept) kept.startNs = wallNs();
  }

  /** See HostObserver. */
  ended(
    { label }: HostRequest,
    { outcome, endNs, error }: HostEnding,
  ): void {
    const kept = this.#present.get(label);
    if (kept === undefined) return;
    this.#present.delete(label);
    const reason = outcome === "done" ? undefined : reasonOf(error);
    kept.ending = { outcome, endNs, reason };
    this.#ended.push(kept);
    if (this.#ended.size > this.requestsMax) this.#ended.shift();
  }

  /**
   * Explains the last request of this id.
   * @param key only requests that came with this key; undefined: any
   * @throws NotFoundError when there is none, or it has not ended, or was forgotten
   */
  explain(model: string, id: string, key?: string): Explanation {
    for (let at = this.#ended.size - 1; at >= 0; at--) {
      const kept = this.#ended.at(at)!;
      const { request } = kept;
      const isIt = request.id === id && request.model === model &&
        (key === undefined || request.key === key);
      if (isIt) return explained(kept);
    }
    throw new NotFoundError(
      `Of the last ${this.requestsMax} requests that have ended none of model "${model}" is called so`,
    );
  }
}

function explained(kept: Kept): Explanation {
  const { request, startNs, log, rows } = kept;
  const ids = [...kept.ids ?? []];
  const { outcome, endNs, reason } = kept.ending!;
  const { arrivalNs, model, version } = request;
  const since = (ns: number) => nsToMs(ns - arrivalNs);
  const launches = log === undefined
    ? []
    : [...log.launches.values()].filter(({ requests }) =>
      requests.some((id) => ids.includes(id))
    );
  const text = reason === undefined
    ? []
    : [`${outcome}: ${reason} after ${since(endNs)} ms`];
  if (startNs !== undefined && startNs - arrivalNs > NS_PER_MS) {
    text.push(`waited ${since(startNs)} ms for the engine to have room`);
  }
  if (rows > ids.length) {
    text.push(`of its ${rows} rows, the last ${ids.length}:`);
  }
  for (const id of ids) {
    if (log?.requests.has(id)) text.push(...log.explainRequest(id));
  }
  return {
    ...{ id: request.id, model, version },
    ...(log && { policy: log.policy }),
    outcome,
    ...(reason !== undefined && { reason }),
    took_ms: since(endNs),
    ...(startNs !== undefined && { admitted_ms: since(startNs) }),
    requests: ids,
    launches: launches.map((launch) => explainedLaunch(launch, since)),
    text,
  };
}

function explainedLaunch(
  { id, atNs, endNs, worker, cells, requests, why }: LoggedLaunch,
  since: (ns: number) => number,
): ExplainedLaunch {
  return {
    launch: id,
    at_ms: since(atNs),
    ran_ms: nsToMs(endNs - atNs),
    ...{ worker, cells, requests, why },
  };
}
