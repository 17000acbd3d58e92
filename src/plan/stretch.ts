/** What a machine did in a stretch of time under load: how fast its workers were, and when its host stood still. */

/** Speeds are means of so much time. */
export const SLICE_NS = 1e6;
/** Speeds are in parts of that at which tasks take what a profile's tables say. */
export const WHOLE = 1000;
/** So much of a slice's time has to have been computed, in it and those before it, to say something of the speed. */
const SEEN = 0.05;

/** A stretch of time; slow tasks, and pauses, stay together as they came. */
export interface Stretch {
  /** By worker, by slice of time: thousandths of the tables' speed, at least 1. */
  readonly speed: readonly (readonly number[])[];
  /** When the host's thread heard of nothing: ascending, integer ns from the stretch's start. */
  readonly pauses: readonly (readonly [startNs: number, endNs: number])[];
}

/** A task as it was seen. */
export interface SeenTask {
  readonly worker: number;
  readonly startNs: number;
  readonly endNs: number;
  /** When the host heard of its end. */
  readonly heardNs: number;
  /** What it takes by the tables; undefined: they do not say. */
  readonly nominalNs?: number;
}

/**
 * @param tasks at least one, at any time of the clock
 * @param pauseLeastNs what the host is later than this to hear of an end is a pause: before that it has something to do
 * @returns where nothing is known of a worker it is as fast as before, and at first as the tables say
 */
export function stretchOf(
  tasks: readonly SeenTask[],
  workers: number,
  pauseLeastNs: number,
): Stretch {
  const originNs = tasks.reduce((a, b) => Math.min(a, b.startNs), Infinity);
  const lastNs = tasks.reduce((a, b) => Math.max(a, b.endNs), 0) - originNs;
  const slices = Math.max(1, Math.floor(lastNs / SLICE_NS));
  const speed = Array.from({ length: workers }, (_, worker) => {
    const busyNs = new Float64Array(slices);
    const doneNs = new Float64Array(slices);
    for (const { worker: own, startNs, endNs, nominalNs } of tasks) {
      if (own !== worker || nominalNs === undefined) continue;
      // Clocks have steps: what took none says nothing.
      if (endNs <= startNs) continue;
      const [from, to] = [startNs - originNs, endNs - originNs];
      for (
        let slice = Math.floor(from / SLICE_NS);
        slice < slices && slice * SLICE_NS < to;
        slice++
      ) {
        const partNs = Math.min(to, (slice + 1) * SLICE_NS) -
          Math.max(from, slice * SLICE_NS);
        busyNs[slice] += partNs;
        doneNs[slice] += nominalNs * partNs / (to - from);
      }
    }
    let last = WHOLE;
    // Alone, of slices with little to do only those would count in which a task was held up.
    let unsaid = { busyNs: 0, doneNs: 0 };
    return Array.from(busyNs, (ns, slice) => {
      unsaid.busyNs += ns;
      unsaid.doneNs += doneNs[slice];
      if (unsaid.busyNs > SEEN * SLICE_NS) {
        last = Math.max(1, Math.round(WHOLE * unsaid.doneNs / unsaid.busyNs));
        unsaid = { busyNs: 0, doneNs: 0 };
      }
      return last;
    });
  });
  return { speed, pauses: pausesOf(tasks, originNs, pauseLeastNs) };
}

/** Those that overlap are one. */
function pausesOf(
  tasks: readonly SeenTask[],
  originNs: number,
  leastNs: number,
): [number, number][] {
  const pauses: [number, number][] = [];
  const late = tasks.filter(({ endNs, heardNs }) => heardNs - endNs > leastNs);
  for (const { endNs, heardNs } of late.sort((a, b) => a.endNs - b.endNs)) {
    const [from, to] = [endNs - originNs, heardNs - originNs].map(Math.round);
    const last = pauses[pauses.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else pauses.push([from, to]);
  }
  return pauses;
}
