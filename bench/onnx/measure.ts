/** Measures one file on both sides, round by round in turns, results compared first. */
import { Prng } from "../../src/base/prng.ts";
import { policyOptions } from "../../src/cli/policy_options.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import type { ValueInfo } from "../../src/onnx/ir.ts";
import type { ModelOptions, OnnxCellModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { openSource } from "../../src/onnx/source.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import type { Ort, OrtSession, OrtTensor } from "../kernels/peers/ort.ts";
import { greatestDifference } from "../models/compare.ts";
import { medianRatio } from "../models/measure.ts";
import { slotBytes } from "../models/served.ts";
import type { ModelFile } from "./files.ts";
import { drawnInput, type Elements } from "./inputs.ts";
import { feedsOf, hasFreeBatch, openSession } from "./peer.ts";
import type { OnnxSettings } from "./settings.ts";
import { timed, timePerRequest } from "./timing.ts";

/** Something of everything that is timed. */
export interface EachOf<T> {
  /** Our requests one by one. */
  alone: T;
  /** The peer's. */
  peerAlone: T;
  /** Our requests, many in flight. */
  inFlight: T;
  /** The peer's as one batch; absent where the file's batch axis is not free. */
  peerBatch?: T;
}

/** Figures of one file. */
export interface Measured {
  name: string;
  path: string;
  cells: number;
  /** What the loader says of the file. */
  notes: readonly string[];
  /** Best milliseconds: loadOnnx, the same and an engine that is ready, the peer's session; from a path each. */
  loadMs: { load: number; ready: number; peer: number };
  /** Best milliseconds per request. */
  bestMs: EachOf<number>;
  /** Milliseconds per request of every round. */
  roundsMs: EachOf<number[]>;
  /** The peer's time over ours, median of the rounds: alone, in flight against its requests, against its batches. */
  ratios: { alone: number; inFlight: number; batch?: number };
  /** Largest difference between results, relative to the greatest of an output. */
  difference: number;
}

/** A file that one side does not take, or where they disagree. */
export interface Refused {
  name: string;
  path: string;
  refused: string;
}

export type FileResult = Measured | Refused;

/** A round ahead of those that count, as much longer: it takes seconds until all code of a small model is compiled. */
const WARM_UP = 5;
const LOADS = 3;
/** Sums are taken in other orders, through up to fifty layers. */
const TOLERANCE = 1e-3;
/** Requests whose results are compared, answered among all others. */
const COMPARED = 8;

/** Whatever goes wrong is a result as well. */
export async function measureFile(
  file: ModelFile,
  settings: OnnxSettings,
  ort: Ort,
): Promise<FileResult> {
  const refused = (who: string, { message }: Error): Refused => ({
    ...file,
    refused: `${who}: ${message.split("\n")[0]}`,
  });
  let subject: Subject;
  try {
    subject = await open(file, settings);
  } catch (error) {
    return refused("Shoal", error as Error);
  }
  let peer: Peer;
  try {
    peer = await openPeer(file, ort, subject);
  } catch (error) {
    await subject.engine.close();
    return refused("onnxruntime-web", error as Error);
  }
  try {
    const difference = await compared(subject, peer);
    const loadMs = await loads(file, settings, ort, subject);
    const roundsMs = await rounds(settings, subject, peer);
    return {
      ...file,
      cells: subject.model.cells.length,
      notes: subject.model.notes,
      ...{ loadMs, roundsMs, difference },
      bestMs: mapped(roundsMs, (ms) => Math.min(...ms)),
      ratios: {
        alone: medianRatio(roundsMs.peerAlone, roundsMs.alone),
        inFlight: medianRatio(roundsMs.peerAlone, roundsMs.inFlight),
        ...(roundsMs.peerBatch &&
          { batch: medianRatio(roundsMs.peerBatch, roundsMs.inFlight) }),
      },
    };
  } catch (error) {
    return refused("side by side", error as Error);
  } finally {
    await subject.engine.close();
    await peer.session.release();
  }
}

interface Subject {
  model: OnnxCellModel;
  /** How it was loaded. */
  options: ModelOptions;
  engine: ServingEngine;
  inputs: readonly Elements[];
  takesBatches: boolean;
}

/** Our side, and what is asked of both. */
async function open(
  { path, name }: ModelFile,
  settings: OnnxSettings,
): Promise<Subject> {
  const { inFlight, maxId, seed } = settings;
  const { bytes, label, external } = await openSource(path);
  const { graph } = readModel(bytes, { label, external });
  const options = { sizes: sizesFor(graph.inputs, settings.sizes) };
  const model = await loadOnnx(path, options);
  const prng = new Prng(seed).fork(name);
  const inputs = Array.from(
    { length: inFlight },
    () => drawnInput(model.inputs, prng, maxId),
  );
  return {
    ...{ model, options, inputs },
    engine: await serve(model, settings, inputs),
    takesBatches: hasFreeBatch(graph) &&
      model.inputs.every(({ shape }) => shape[0] === 1),
  };
}

/** Those that the file asks for: others are for other files. */
function sizesFor(
  inputs: readonly ValueInfo[],
  sizes: OnnxSettings["sizes"],
): OnnxSettings["sizes"] {
  const named = new Set<unknown>(inputs.flatMap(({ dims }) => dims ?? []));
  return Object.fromEntries(
    Object.entries(sizes).filter(([name]) => named.has(name)),
  );
}

function serve(
  model: OnnxCellModel,
  { policy: name, batchMax }: OnnxSettings,
  inputs: readonly Elements[],
): Promise<ServingEngine> {
  const options = policyOptions(name, { batchSizeMax: batchMax });
  return ServingEngine.create({
    models: [model],
    policy: POLICIES[name].build(options),
    workers: 1,
    slotBytes: slotBytes(model, inputs),
  });
}

interface Peer {
  session: OrtSession;
  feeds: readonly Record<string, OrtTensor>[];
  /** All requests at once; absent where the file does not take them. */
  batch?: Record<string, OrtTensor>;
}

async function openPeer(
  { path }: ModelFile,
  ort: Ort,
  { model, inputs, takesBatches }: Subject,
): Promise<Peer> {
  const session = await openSession(ort, path);
  const feeds = inputs.map((input) => feedsOf(ort, model.inputs, [input]));
  await session.run(feeds[0]);
  return {
    ...{ session, feeds },
    ...(takesBatches && { batch: feedsOf(ort, model.inputs, inputs) }),
  };
}

/** The largest difference of any result of the first requests. */
async function compared(
  { model, engine, inputs }: Subject,
  { session, feeds }: Peer,
): Promise<number> {
  let largest = 0;
  const answers = await Promise.all(
    inputs.map((input) => engine.run(model, input)),
  );
  for (const [i, { outputs }] of answers.slice(0, COMPARED).entries()) {
    const theirs = await session.run(feeds[i]);
    for (const { name } of model.results) {
      largest = Math.max(
        largest,
        greatestDifference(`request ${i}, output ${name}`, {
          got: Array.from(outputs[name].data, Number),
          expected: Array.from(theirs[name].data, Number),
          tolerance: TOLERANCE,
        }),
      );
    }
  }
  return largest;
}

/** Best times of a few loads, in turns; the first of each is not counted. */
async function loads(
  { path }: ModelFile,
  settings: OnnxSettings,
  ort: Ort,
  { options, inputs }: Subject,
): Promise<Measured["loadMs"]> {
  const best = { load: Infinity, ready: Infinity, peer: Infinity };
  for (let round = -1; round < LOADS; round++) {
    const [load, model] = await timed(() => loadOnnx(path, options));
    const [start, engine] = await timed(() => serve(model, settings, inputs));
    await engine.close();
    const [peer, session] = await timed(() => openSession(ort, path));
    await session.release();
    if (round < 0) continue;
    best.load = Math.min(best.load, load);
    best.ready = Math.min(best.ready, load + start);
    best.peer = Math.min(best.peer, peer);
  }
  return best;
}

async function rounds(
  { rounds, roundMs, inFlight }: OnnxSettings,
  { model, engine, inputs }: Subject,
  { session, feeds, batch }: Peer,
): Promise<Measured["roundsMs"]> {
  let leastMs = WARM_UP * roundMs;
  const own = (i: number) => engine.run(model, inputs[i % inputs.length]);
  const contestants: EachOf<() => Promise<number>> = {
    alone: () => timePerRequest(own, { lanes: 1, leastMs }),
    peerAlone: () =>
      timePerRequest((i) => session.run(feeds[i % feeds.length]), {
        ...{ lanes: 1, leastMs },
      }),
    inFlight: () => timePerRequest(own, { lanes: inFlight, leastMs }),
    ...(batch && {
      peerBatch: async () => {
        const options = { lanes: 1, leastMs };
        return await timePerRequest(() => session.run(batch), options) /
          inFlight;
      },
    }),
  };
  const results: Measured["roundsMs"] = mapped(contestants, (): number[] => []);
  for (let round = -1; round < rounds; round++) {
    for (const [name, run] of Object.entries(contestants)) {
      const ms = await run();
      if (round >= 0) results[name as keyof typeof results]?.push(ms);
    }
    leastMs = roundMs;
  }
  return results;
}

/** The same names with other values. */
function mapped<A, B>(
  { alone, peerAlone, inFlight, peerBatch }: EachOf<A>,
  of: (value: A) => B,
): EachOf<B> {
  return {
    alone: of(alone),
    peerAlone: of(peerAlone),
    inFlight: of(inFlight),
    ...(peerBatch !== undefined && { peerBatch: of(peerBatch) }),
  };
}
