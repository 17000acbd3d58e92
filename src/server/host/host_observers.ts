/**
 * Who hears of what a host does, none of whom hears of another one's mistakes; and which versions of models they are to
 * forget: a host that has served a version every hour for a year would tell of nine thousand.
 */
import { guardedObserver } from "../../engine/wall/guarded_observer.ts";
import { tee } from "../../metrics/tee.ts";
import type { Observer } from "../../policy/records.ts";
import type { HostObserver, ModelVersion } from "./host_observer.ts";
import { servedLabel, type ServedModel } from "./served_model.ts";

/** Versions served no more of which figures stay: the last ones are still to be scraped, or served again. */
const LEFT_MAX = 32;

/** The observers of one host. */
export class HostObservers {
  readonly #observers: readonly HostObserver[];
  readonly #report: (error: unknown) => void;
  /** Versions that nobody serves or asks any more, by label, the longest ago first. */
  readonly #left = new Map<string, ModelVersion>();

  constructor(
    observers: readonly HostObserver[],
    report: (error: unknown) => void,
  ) {
    this.#observers = observers;
    this.#report = report;
  }

  /** Calls a hook of each. */
  tell(hook: (observer: HostObserver) => unknown): void {
    for (const observer of this.#observers) this.call(() => hook(observer));
  }

  /** Calls what somebody else has given. What it throws, or its promise is rejected with, is reported, and no more. */
  call(theirs: () => unknown): void {
    try {
      const returned = theirs();
      if (returned instanceof Promise) {
        returned.catch((error) => this.#report(error));
      }
    } catch (error) {
      this.#report(error);
    }
  }

  /** All that hear of an engine, as one observer. */
  engine(...of: Parameters<NonNullable<HostObserver["engine"]>>): Observer {
    const observers: Observer[] = [];
    this.tell((observer) => {
      const heard = observer.engine?.(...of);
      if (heard) observers.push(guardedObserver(heard, this.#report));
      return heard;
    });
    return tee(...observers);
  }

  /**
   * An engine is gone, or could not be made.
   * @param there models of engines that are
   */
  left(models: Iterable<ServedModel>, there: Iterable<ServedModel>): void {
    const labels = new Set([...there].map(servedLabel));
    for (const served of models) {
      const { name, version } = served;
      const label = servedLabel(served);
      this.#left.delete(label);
      if (!labels.has(label)) this.#left.set(label, { name, version });
    }
  }

  /** Models are served. Not while an engine is made: of its models observers have heard. */
  served(models: readonly ServedModel[]): void {
    for (const served of models) this.#left.delete(servedLabel(served));
    for (const [label, version] of this.#left) {
      if (this.#left.size <= LEFT_MAX) return;
      this.#left.delete(label);
      this.tell((observer) => observer.forget?.(version));
    }
  }
}
