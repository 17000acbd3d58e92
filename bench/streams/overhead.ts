/**
 * What a frame costs the engine's thread where a worker computes, and how much of that is the load's own: timers of the
 * runtime, making frames and counting them are measured by the same load with nobody behind it.
 */
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { cpuMs, cpuSince } from "./cpu.ts";
import type { StreamSubject } from "./models.ts";
import { runTrial, type TrialEngine } from "./trial.ts";

/** Microseconds of the engine's thread a frame; undefined where nobody tells (Linux does). */
export interface Overhead {
  /** Every frame is pushed when it is due. */
  readonly dueUs: number | undefined;
  /** The same frames, pushed to nobody. */
  readonly aloneUs: number | undefined;
  /** As `dueUs`, where results may lie for a while (`lingerMs`). */
  readonly lingerUs: number | undefined;
  /** Each stream pushes when it has its result: there is no timer. */
  readonly onResultsUs: number | undefined;
}

/** Streams of that measurement. */
export const OVERHEAD_STREAMS = 64;
/** Load and engine take turns, so that both have the machine as it is. */
const ROUNDS = 3;
const SECONDS = 4;
const SLOT_BYTES = 2 ** 28;
/** Share of a period for which results may lie. */
export const LINGER_SHARE = 0.25;

export async function measureOverhead(
  subject: StreamSubject,
  batchSizeMax: number,
  seed: number,
): Promise<Overhead> {
  const created = (lingerMs: number) =>
    ServingEngine.create({
      models: [subject.model],
      policy: cellular({ batchSizeMax }),
      workers: 1,
      slotBytes: SLOT_BYTES,
      lingerMs,
    });
  await using engine = await created(0);
  await using lingering = await created(LINGER_SHARE * subject.periodMs);
  const frameUs = async (engine: TrialEngine): Promise<number> => {
    const { mainCores = NaN } = await runTrial(engine, subject, {
      streams: OVERHEAD_STREAMS,
      seconds: SECONDS,
      secondsMax: SECONDS,
      seed,
      lateMax: 1,
    });
    return 1000 * subject.periodMs * mainCores / OVERHEAD_STREAMS;
  };
  const nobody = await nobodyBehind(engine, subject);
  await frameUs(engine);
  await frameUs(lingering);
  let dueUs = 0;
  let aloneUs = 0;
  let lingerUs = 0;
  for (let round = 0; round < ROUNDS; round++) {
    aloneUs += await frameUs(nobody) / ROUNDS;
    dueUs += await frameUs(engine) / ROUNDS;
    lingerUs += await frameUs(lingering) / ROUNDS;
  }
  const onResultsUs = await pushedOnResults(engine, subject);
  const known = (us: number) => Number.isNaN(us) ? undefined : us;
  return {
    dueUs: known(dueUs),
    aloneUs: known(aloneUs),
    lingerUs: known(lingerUs),
    onResultsUs: known(onResultsUs),
  };
}

/** Answers every frame at once, with what a first one gave. */
async function nobodyBehind(
  engine: ServingEngine,
  { model, frame }: StreamSubject,
): Promise<TrialEngine> {
  const stream = engine.open(model);
  const result = await stream.push(frame(0, 0));
  await stream.close();
  const session = {
    push: () => Promise.resolve(result),
    close: () => Promise.resolve(),
  };
  return { threads: engine.threads, open: () => session };
}

async function pushedOnResults(
  engine: ServingEngine,
  { model, frame }: StreamSubject,
): Promise<number> {
  let frames = 0;
  let isOver = false;
  const streams = Array.from(
    { length: OVERHEAD_STREAMS },
    () => engine.open(model),
  );
  const all = Promise.all(streams.map(async (stream, i) => {
    for (let f = 0; !isOver; f++, frames++) await stream.push(frame(i, f));
  }));
  const passed = () =>
    new Promise((resolve) => setTimeout(resolve, 1000 * SECONDS));
  await passed();
  const before = { frames, cpu: cpuMs() };
  await passed();
  const { main = NaN } = cpuSince(before.cpu);
  const frameUs = 1000 * main / (frames - before.frames);
  isOver = true;
  await all;
  await Promise.all(streams.map((stream) => stream.close()));
  return frameUs;
}
