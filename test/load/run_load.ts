import { Prng } from "../../src/base/prng.ts";
import type { Ledger } from "../../src/load/ledger.ts";
import { loadPlan } from "../../src/load/plan.ts";
import type { LoadResult, Target } from "../../src/load/result.ts";
import { runLoad, type RunOptions } from "../../src/load/run.ts";
import { summarizeLoad } from "../../src/load/summarize.ts";
import type { WireRequest } from "../../src/load/wire.ts";
import { type Arrivals, interval } from "../../src/workload/arrivals.ts";
import { fakeWire, type Served } from "./fake_wire.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** A request that asks for nothing. */
export const REQUEST: WireRequest = {
  ...{ method: "GET", path: "/", headers: {}, body: new Uint8Array() },
};

/** A run on virtual time. */
export interface VirtualRun
  extends Partial<Omit<RunOptions, "wire" | "clock">> {
  readonly ratePerS?: number;
  readonly arrivals?: Arrivals;
  readonly seconds?: number;
  readonly warmUpS?: number;
  readonly leaves?: number;
  readonly target?: Target;
  readonly clock?: VirtualClock;
  readonly serve: (nth: number, atNs: number) => Served;
}

export async function virtualRun(
  {
    ratePerS = 100,
    arrivals = interval({ ratePerS }),
    seconds = 10,
    warmUpS = 0,
    leaves = 0,
    target,
    serve,
    connections = 512,
    timeoutNs = 30e9,
    clock = new VirtualClock(),
    ...rest
  }: VirtualRun,
): Promise<{ ledger: Ledger; result: LoadResult; sent: readonly number[] }> {
  const prng = new Prng(1);
  const plan = loadPlan({
    ...{ arrivals, ratePerS, warmUpS, seconds, prng, leaves },
    ...{ bodies: [REQUEST], leavesWithinNs: 1e9 },
  });
  const wire = fakeWire(clock, serve);
  const ledger = await clock.run(
    runLoad(plan, { ...rest, wire, clock, connections, timeoutNs }),
  );
  const result = summarizeLoad(plan, ledger, {
    ...(target && { target }),
    ...{ connections, isLocal: true },
    wasStopped: rest.stop?.aborted ?? false,
  });
  return { ledger, result, sent: wire.sent };
}
