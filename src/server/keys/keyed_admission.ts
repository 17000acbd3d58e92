/** What each key may ask for, in front of what everybody may: models, requests a second, work a second. */
import { NS_PER_MS } from "../../base/units.ts";
import type { Observer } from "../../policy/records.ts";
import type { CostAdmission } from "../admission/cost_admission.ts";
import type { Admission } from "../host/admission.ts";
import { ForbiddenError, OverloadedError } from "../host/errors.ts";
import type { HostEnding } from "../host/host_observer.ts";
import type { HostRequest } from "../host/host_request.ts";
import type { ServedModel } from "../host/served_model.ts";
import { Allowance } from "./allowance.ts";
import type { KeyEntry, KeyRing } from "./key_ring.ts";

interface Share {
  readonly entry: KeyEntry;
  readonly requests: Allowance | undefined;
  readonly costMs: Allowance | undefined;
}

/**
 * Refuses what a key may not ask for, and what is more than its share, before anything else is asked.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { CostAdmission, KeyedAdmission, KeyRing, keySha256 } from "@shoal/core/server";
 *
 * const keys = new KeyRing([{ name: "app", sha256: await keySha256("secret"), requestsPerSecond: 100 }]);
 * const admission = new KeyedAdmission(keys, new CostAdmission({ sloMs: 50 }));
 * assert.equal(admission.refusal(), undefined);
 * ```
 */
export class KeyedAdmission implements Admission {
  readonly #inner: CostAdmission;
  readonly #shares = new Map<string, Share>();
  readonly #again = new Set<string>();

  /** An admission of one host. */
  constructor(keys: KeyRing, inner: CostAdmission) {
    this.#inner = inner;
    const now = inner.nowNs();
    for (const entry of keys.entries) {
      const { requestsPerSecond, burst, costMsPerSecond } = entry;
      this.#shares.set(entry.name, {
        entry,
        requests: requestsPerSecond === undefined ? undefined : new Allowance(
          requestsPerSecond,
          burst ?? Math.max(1, requestsPerSecond),
          now,
        ),
        costMs: costMsPerSecond === undefined
          ? undefined
          : new Allowance(costMsPerSecond, costMsPerSecond, now),
      });
    }
  }

  /** See Admission. @throws ForbiddenError on a model that the key may not use */
  admit(request: HostRequest): Promise<() => void> | (() => void) {
    const { key, served } = request;
    // Its share was taken.
    if (this.#again.delete(request.label)) return this.#inner.admit(request);
    const share = key === undefined ? undefined : this.#shares.get(key);
    if (share === undefined) return this.#inner.admit(request);
    checkModel(share, served);
    const now = this.#inner.nowNs();
    check(share.requests, 1, now, "requests");
    if (share.costMs === undefined) return this.#inner.admit(request);
    const costMs = this.#inner.costNs(request) / NS_PER_MS;
    check(share.costMs, costMs, now, "work");
    return this.#admitPaid(request, share.costMs, costMs);
  }

  /** What is not admitted is no work of its key's. */
  #admitPaid(
    request: HostRequest,
    share: Allowance,
    costMs: number,
  ): Promise<() => void> | (() => void) {
    const refused = (error: unknown): never => {
      share.giveBack(costMs);
      throw error;
    };
    try {
      const admitted = this.#inner.admit(request);
      return typeof admitted === "function"
        ? admitted
        : admitted.catch(refused);
    } catch (error) {
      return refused(error);
    }
  }

  /** See Admission. @throws ForbiddenError */
  checkKey(key: string, served: ServedModel): void {
    const share = this.#shares.get(key);
    if (share) checkModel(share, served);
  }

  /** See Admission. */
  again(request: HostRequest): boolean {
    const isAgain = this.#inner.again(request);
    if (isAgain) this.#again.add(request.label);
    return isAgain;
  }

  /** See Admission. */
  refusal(priority?: number): Error | undefined {
    return this.#inner.refusal(priority);
  }

  /** See HostObserver. */
  engine(): Observer {
    return this.#inner.engine();
  }

  /** See HostObserver. */
  ended(request: HostRequest, ending: HostEnding): void {
    this.#inner.ended(request, ending);
  }
}

function checkModel({ entry: { models } }: Share, { name }: ServedModel): void {
  if (models === undefined || models.includes(name)) return;
  throw new ForbiddenError("This key may not use this model");
}

function check(
  allowance: Allowance | undefined,
  amount: number,
  nowNs: number,
  what: string,
): void {
  const waitMs = allowance?.take(amount, nowNs) ?? 0;
  if (waitMs === 0) return;
  throw new OverloadedError(
    `This key's share of ${what} is used up`,
    waitMs,
    "key",
  );
}
