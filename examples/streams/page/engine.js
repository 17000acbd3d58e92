/**
 * The engine's thread: a denoiser, a voice detector and spectra, all of them streams of one engine, and as many
 * simulated callers as one likes.
 *
 * In: { kind: "start", models, workers }, { kind: "frames", id, samples }, { kind: "reset" }, { kind: "callers", count }.
 * Out: { kind: "ready", threads, hasSpeech }, { kind: "frames", id, samples, before, after, speech },
 * { kind: "load", callers, frames, p50Ms, p99Ms, late }, { kind: "failed", id, message }; an id if it is one of frames.
 */
import {
  cellular,
  defineCell,
  defineStream,
  f32,
  ServingEngine,
  tensor,
} from "./shoal/mod.js";
import { dtln, loadOnnx, plainTensor, silero } from "./shoal/onnx.js";

const RATE_HZ = 16_000;
const HOP = 128;
const PERIOD_MS = 1000 * HOP / RATE_HZ;
const SILERO_HOP = 512;
/** Its new samples, and the last ones of before. */
const SILERO_WINDOW = SILERO_HOP + 64;
/** Frames of what is on the page that are in the engine at once. */
const AHEAD = 32;
const LOAD_EVERY_MS = 500;
/** Frames of a simulated caller that may wait before its next ones are dropped. */
const CALLER_AHEAD = 8;

/** Magnitudes of windows of two hops: [0, 8 kHz] in HOP + 1 bins. */
function spectra() {
  const size = 2 * HOP;
  const hann = Float32Array.from(
    { length: size },
    (_, i) => Math.sin(Math.PI * i / size) ** 2,
  );
  const window = tensor([size], hann);
  const cell = defineCell({
    name: "spectrum",
    inputs: { samples: f32(HOP), before: f32(HOP) },
    body: (op, { samples, before }) => {
      const frame = op.Concat(before, samples);
      return {
        magnitudes: op.Magnitude(op.RFFT(op.Mul(frame, op.Constant(window)))),
        before: op.Slice(frame, HOP, size),
      };
    },
  });
  return defineStream({
    name: "spectra",
    cells: [cell],
    inputs: { samples: f32(HOP) },
    states: { before: { ...f32(HOP), from: "before" } },
    outputs: { magnitudes: "f32" },
    frame(graph, given) {
      const node = graph.node(cell, {
        samples: graph.row(given.samples, 0, HOP),
        before: graph.row(given.before, 0, HOP),
      });
      for (const name of ["magnitudes", "before"]) {
        graph.result(name, graph.output(node, name));
      }
    },
  });
}

/** Callers that are not there: noise, a frame in every period of each. */
class SimulatedCallers {
  #streams = [];
  #dueMs = [];
  #pending = [];
  #latenciesMs = [];
  #dropped = 0;
  #timer;

  constructor(engine, model) {
    this.engine = engine;
    this.model = model;
    this.noise = Array.from(
      { length: 16 },
      () => ({
        samples: Float32Array.from(
          { length: HOP },
          () => 0.2 * Math.random() - 0.1,
        ),
      }),
    );
  }

  /** As many as this. */
  set(count) {
    while (this.#streams.length < count) {
      this.#streams.push(this.engine.open(this.model));
      this.#dueMs.push(performance.now() + PERIOD_MS * Math.random());
      this.#pending.push(0);
    }
    for (const stream of this.#streams.splice(count)) stream.close("reject");
    this.#dueMs.length = this.#pending.length = count;
    if (count > 0) this.#timer ??= setInterval(() => this.#push(), 2);
    else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #push() {
    const nowMs = performance.now();
    this.#streams.forEach((stream, i) => {
      while (this.#dueMs[i] <= nowMs) {
        const dueMs = this.#dueMs[i];
        this.#dueMs[i] += PERIOD_MS;
        if (stream.pending >= CALLER_AHEAD) {
          this.#dropped++;
          continue;
        }
        stream.push(this.noise[(i + Math.round(dueMs)) % this.noise.length])
          .then(
            () => this.#latenciesMs.push(performance.now() - dueMs),
            () => {},
          );
      }
    });
  }

  /** What has been since the last time. */
  report() {
    const sorted = Float64Array.from(this.#latenciesMs).sort();
    const all = sorted.length + this.#dropped;
    const onTime = sorted.findLastIndex((ms) => ms <= PERIOD_MS) + 1;
    const report = {
      callers: this.#streams.length,
      frames: all,
      p50Ms: sorted[Math.floor(0.5 * sorted.length)],
      p99Ms: sorted[Math.floor(0.99 * sorted.length)],
      late: all === 0 ? 0 : 1 - onTime / all,
    };
    this.#latenciesMs = [];
    this.#dropped = 0;
    return report;
  }
}

/** What somebody hears who looks at the page. */
class Own {
  constructor(engine, { denoiser, spectrum, detector }) {
    this.clean = engine.open(denoiser);
    this.spectra = [engine.open(spectrum), engine.open(spectrum)];
    this.speech = detector && engine.open(detector);
    this.rest = new Float32Array(0);
  }

  reset() {
    this.rest = new Float32Array(0);
    return Promise.all(
      [this.clean, ...this.spectra, this.speech].map((stream) =>
        stream?.reset()
      ),
    );
  }

  /** Frames without their noise, spectra of both, and probabilities of speech. */
  async process(samples) {
    const out = new Float32Array(samples.length);
    const [before, after] = [[], []];
    for (let from = 0; from < samples.length; from += AHEAD * HOP) {
      const frames = [];
      for (
        let at = from;
        at < Math.min(from + AHEAD * HOP, samples.length);
        at += HOP
      ) {
        frames.push(samples.subarray(at, at + HOP));
      }
      const [cleaned, given] = await Promise.all([
        this.#pushed(this.clean, frames, "samples"),
        this.#pushed(this.spectra[0], frames, "magnitudes"),
      ]);
      before.push(...given);
      after.push(...await this.#pushed(this.spectra[1], cleaned, "magnitudes"));
      cleaned.forEach((frame, i) => out.set(frame, from + i * HOP));
    }
    return { samples: out, before, after, speech: await this.#speechOf(out) };
  }

  async #pushed(stream, frames, result) {
    const done = await Promise.all(
      frames.map((samples) => stream.push({ samples })),
    );
    return done.map(({ outputs }) => outputs[result].data);
  }

  async #speechOf(samples) {
    if (!this.speech) return [];
    const all = new Float32Array(this.rest.length + samples.length);
    all.set(this.rest);
    all.set(samples, this.rest.length);
    const whole = all.length - all.length % SILERO_HOP;
    this.rest = all.slice(whole);
    const speech = [];
    for (let from = 0; from < whole; from += AHEAD * SILERO_HOP) {
      const frames = [];
      for (
        let at = from;
        at < Math.min(from + AHEAD * SILERO_HOP, whole);
        at += SILERO_HOP
      ) {
        frames.push(all.subarray(at, at + SILERO_HOP));
      }
      const done = await this.#pushed(this.speech, frames, "speech");
      speech.push(...done.map(([probability]) => probability));
    }
    return speech;
  }
}

let own;
let callers;

const ON = {
  async start({ models: { model1, model2, speech }, workers }) {
    const denoiser = dtln({
      model1: await loadOnnx(model1),
      model2: await loadOnnx(model2),
    });
    const rate = plainTensor("int64", [], BigInt64Array.of(BigInt(RATE_HZ)));
    // The published files leave these sizes open.
    const detector = speech && silero(
      await loadOnnx(speech, {
        constants: new Map([["sr", rate]]),
        shapes: { input: [1, SILERO_WINDOW], state: [2, 1, 128] },
      }),
    );
    const spectrum = spectra();
    const engine = await ServingEngine.create({
      models: [denoiser, spectrum, ...(detector ? [detector] : [])],
      policy: cellular({ batchSizeMax: 64 }),
      workers,
    });
    own = new Own(engine, { denoiser, spectrum, detector });
    callers = new SimulatedCallers(engine, denoiser);
    setInterval(
      () => postMessage({ kind: "load", ...callers.report() }),
      LOAD_EVERY_MS,
    );
    postMessage({
      kind: "ready",
      threads: engine.threads,
      hasSpeech: !!detector,
    });
  },

  async frames({ id, samples }) {
    postMessage({ kind: "frames", id, ...await own.process(samples) });
  },

  reset: () => own.reset(),

  callers: ({ count }) => callers.set(count),
};

let line = Promise.resolve();

// One after the other: a reset lies between what was sent before and after it. How many callers there are is heard at
// once: too many keep frames waiting, and fewer are the cure.
onmessage = ({ data }) => {
  const hasTurn = data.kind !== "callers" || !callers;
  const done = (hasTurn ? line : Promise.resolve())
    .then(() => ON[data.kind](data))
    .catch((error) =>
      postMessage({
        kind: "failed",
        id: data.id,
        message: String(error?.message ?? error),
      })
    );
  if (hasTurn) line = done;
};
