/** What a match of the arena is about, as data: it names a point of the cache, and a cell of the heat map. */

/** Loads, as shares of a device's capacity for the workload. */
export const LOADS = [0.25, 0.6, 0.9, 1.2] as const;

/**
 * Deadlines as multiples of the mean time of a request alone; "none": what counts is the mean latency.
 * Assumption: what is tight and what is loose, as nobody says.
 */
export const TARGETS = { tight: 2, normal: 5, loose: 20, none: Infinity };

/** A target by name. */
export type Target = keyof typeof TARGETS;

/** Devices, workloads and arrivals by name, and how much arrives. */
export type Scenario = {
  readonly device: string;
  readonly workload: string;
  readonly arrivals: string;
  /** Share of the capacity. */
  readonly load: number;
};

/** How well a policy did on some requests; counts and times add up over seeds. */
export type Score = {
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Requests done in a second, first arrival to last departure. */
  readonly perS: number;
  /** Share of requests that were done within each of `TARGETS`, in their order. */
  readonly inTime: readonly number[];
  /** Device time of a request, microseconds. */
  readonly workUs: number;
  /** Rows of the batch that a row was in, on average. */
  readonly rowsSeen: number;
};

/** A scenario in a word, for messages and anchors. */
export function scenarioName(
  { device, workload, arrivals, load }: Scenario,
): string {
  return `${device}/${workload}/${arrivals}/${load}`;
}

/**
 * Every scenario, in lists of a workload on a device: first one kind of arrivals for every load, another for each, then
 * the next. So what has been run when time is up has every device, workload and load.
 */
export function spread(
  { devices, workloads, arrivals, loads }: {
    readonly devices: readonly string[];
    readonly workloads: readonly string[];
    readonly arrivals: readonly string[];
    readonly loads: readonly number[];
  },
): Scenario[][] {
  const lists: Scenario[][] = [];
  for (let turn = 0; turn < arrivals.length; turn++) {
    for (const [w, workload] of workloads.entries()) {
      for (const [d, device] of devices.entries()) {
        lists.push(loads.map((load, l) => ({
          device,
          workload,
          arrivals: arrivals[(turn + w + d + l) % arrivals.length],
          load,
        })));
      }
    }
  }
  return lists;
}
