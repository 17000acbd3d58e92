/**
 * Requests of which nothing has been given to a worker yet: those that wait for admission, and those that wait in the
 * engine for their first batch.
 */
import type { Launch } from "../../policy/launch.ts";
import type { Observer } from "../../policy/records.ts";
import type { HostObserver } from "../host/host_observer.ts";
import type { HostRequest } from "../host/host_request.ts";
import type { ServedModel } from "../host/served_model.ts";

/** Keeps them, by the model that they ask for. */
export class PendingRequests implements HostObserver {
  /** By label. */
  readonly #pending = new Map<string, ServedModel>();

  /** How many there are of each model that any is of. */
  counts(): ReadonlyMap<ServedModel, number> {
    const counts = new Map<ServedModel, number>();
    for (const served of this.#pending.values()) {
      counts.set(served, (counts.get(served) ?? 0) + 1);
    }
    return counts;
  }

  /** See HostObserver. */
  engine(): Observer {
    return { decided: (_atNs, launch) => this.#launched(launch) };
  }

  /** See HostObserver. */
  arrived({ label, served }: HostRequest): void {
    this.#pending.set(label, served);
  }

  /** See HostObserver. */
  ended({ label }: HostRequest): void {
    this.#pending.delete(label);
  }

  #launched({ steps }: Launch): void {
    if (this.#pending.size === 0) return;
    for (const { nodes } of steps) {
      for (const { graph: { owner: { label } } } of nodes) {
        if (label !== undefined) this.#pending.delete(label);
      }
    }
  }
}
