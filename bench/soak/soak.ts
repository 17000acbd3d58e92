/**
 * A long load on the serving engine: real tensors, worker threads, wall-clock time, below and far above
 * what the machine can do.
 *
 *     deno task bench:soak [--minutes N] [--policy NAME] [--workers N] [--seed N] [--json]
 *
 * The generator lives in the engine's event loop, as request handlers do: it submits what is due for at
 * most a millisecond and then lets others have their turn. The table says how late that made arrivals.
 */
import process from "node:process";
import { collectGarbage } from "./collect_garbage.ts";
import { Prng } from "../../src/base/prng.ts";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { policyOptions } from "../../src/cli/policy_options.ts";
import {
  print,
  progress,
  stdoutColor,
  UsageError,
} from "../../src/cli/terminal.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import type { Observer } from "../../src/policy/records.ts";
import { Ledger } from "./ledger.ts";
import { type Deadlines, Load } from "./load.ts";
import { watchLoop } from "./loop_delay.ts";
import { soakModels } from "./models.ts";
import { watchOthers } from "../../src/cli/watch_others.ts";
import { OnceEach } from "./once_each.ts";
import { badQuestions, questions } from "./pool.ts";
import {
  goodput,
  type MemoryUse,
  type Phase,
  type Soaked,
  soakJson,
  soakTables,
} from "./report.ts";
import { type SoakSettings, soakSettings } from "./settings.ts";

/** Distinct inputs of each model. */
const POOL = 300;

const BATCH_MAX = 64;

/** Requests of the closed loop that finds the peak: full batches of every cell, and more waiting. */
const OUTSTANDING = 512;
const WARM_MS = 4000;
/** Of each model alone, to know what an answer of it is worth. */
const ALONE_MS = 3000;
const PEAK_MS = 5000;

/** Room for all that arrive within a deadline at ten times the peak. */
const SLOT_BYTES = 2 ** 29;

/** Longest phase: what grows is seen from one to the next of its kind. */
const PHASE_MS = 60_000;
/** Phases of a kind at least, however short the soak is. */
const ROUNDS_MIN = 2;

/** A request that has not ended this long after the last arrival of its phase is lost. */
const PATIENCE_MS = 30_000;

const PROGRESS_MS = 5000;

/** Both get half of the time, in turns. */
const KINDS: readonly {
  readonly name: string;
  readonly ofPeak: number;
  readonly deadlines: Deadlines;
}[] = [
  {
    name: "0.6x",
    ofPeak: 0.6,
    deadlines: { share: 0.2, leastMs: 1, mostMs: 200 },
  },
  {
    name: "10x",
    ofPeak: 10,
    deadlines: { share: 1, leastMs: 100, mostMs: 100 },
  },
];

async function main(): Promise<number> {
  const settings = soakSettings();
  const soaked = await soak(settings);
  if (settings.json) {
    print(JSON.stringify(soakJson(settings, soaked)));
  } else {
    print(soakTables(settings, soaked, { color: stdoutColor() }));
  }
  const everyPhase = [soaked.warm, ...soaked.alone, ...soaked.phases];
  let faults = 0;
  for (const { name, ledger } of everyPhase) {
    faults += ledger.faults;
    for (const told of ledger.told) progress(`${name}: ${told}`);
  }
  return faults === 0 ? 0 : 1;
}

async function soak(settings: SoakSettings): Promise<Soaked> {
  const { seed } = settings;
  const prng = new Prng(seed);
  const served = soakModels(seed);
  const models = served.map(({ model }) => model);
  const policy = POLICIES[settings.policy].build(
    policyOptions(settings.policy, { batchSizeMax: BATCH_MAX }),
  );
  for (const model of models) {
    const obstacle = policy.supports(model);
    if (obstacle !== undefined) {
      throw new UsageError(
        `--policy ${settings.policy} cannot batch ${model.name}: ${obstacle}`,
      );
    }
  }
  progress(`computing ${POOL} answers of ${models.length} models, each alone`);
  const kernels = await readKernels("shoal");
  const pool = served.map((model) =>
    questions(model, POOL, prng.fork(`inputs ${model.model.name}`), kernels)
  );

  let ledger = new Ledger();
  const departures = new OnceEach();
  const observer: Observer = {
    task: (_task, { startNs, endNs }) => ledger.task(startNs, endNs),
    request: (_request, record) =>
      ledger.departure(record, departures.add(record.id)),
  };
  await using engine = await ServingEngine.create({
    models,
    policy,
    workers: settings.workers,
    slotBytes: SLOT_BYTES,
    observer,
  });
  const load = new Load(
    engine,
    pool,
    served.flatMap(badQuestions),
    prng.fork("load"),
  );

  const phase = async (
    name: string,
    put: (ledger: Ledger) => Promise<void>,
    duePerS?: number,
  ): Promise<Phase> => {
    ledger = new Ledger();
    const before = memoryUse();
    const others = watchOthers();
    const stop = watchLoop(ledger.loopDelayMs);
    const startMs = performance.now();
    const since = () => (performance.now() - startMs) / 1000;
    const teller = setInterval(
      () => progress(`${name}, ${since().toFixed(0)} s: ${inShort(ledger)}`),
      PROGRESS_MS,
    );
    await put(ledger);
    const seconds = since();
    const othersShare = others();
    const doneInTime = { ...ledger.doneByModel };
    await load.drain(ledger, PATIENCE_MS);
    clearInterval(teller);
    stop();
    ledger.close();
    progress(`${name}, ${since().toFixed(0)} s: ${inShort(ledger)}, ended`);
    return {
      ...{ name, ledger, seconds, duePerS, doneInTime, before },
      after: memoryUse(),
      othersShare,
    };
  };

  const closed = (name: string, durationMs: number, models?: number[]) =>
    phase(name, (ledger) =>
      load.closed(ledger, {
        outstanding: OUTSTANDING,
        durationMs,
        ...(models && { models }),
      }));
  const warm = await closed("warming up", WARM_MS);
  const alone: Phase[] = [];
  for (const [i, { name }] of models.entries()) {
    alone.push(await closed(`${name} alone`, ALONE_MS, [i]));
  }
  const phases = [await closed("peak", PEAK_MS)];
  const peakPerS = goodput(phases[0]);
  const halfMs = settings.minutes * 30_000;
  const rounds = Math.max(ROUNDS_MIN, Math.ceil(halfMs / PHASE_MS));
  for (let round = 0; round < rounds; round++) {
    for (const { name, ofPeak, deadlines } of KINDS) {
      const durationMs = halfMs / rounds;
      const ratePerS = ofPeak * peakPerS;
      phases.push(
        await phase(
          name,
          (ledger) => load.open(ledger, { ratePerS, durationMs, deadlines }),
          ratePerS,
        ),
      );
    }
  }
  return { warm, alone, phases };
}

function inShort({ offered, open, counts, faults }: Ledger): string {
  return `${offered} requests, ${counts.done} done, ${counts.expired} expired, ` +
    `${open} open, ${faults} faults`;
}

/** What the process has, after garbage collection where the runtime lets it be asked for. */
function memoryUse(): MemoryUse {
  collectGarbage();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heap: heapUsed };
}

process.exitCode = await main();
