/**
 * LSTM step, hidden 1024, one thread: own builds against onnxruntime-web's LSTM operator
 * in one process, interleaved, best of several rounds; results compared before timing.
 *
 * Run: deno task bench:lstm [--json] [--hidden=1024] [--batch=1,4,16,64,256] [--rounds=9]
 */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { Prng } from "../../src/base/prng.ts";
import {
  instantiateKernels,
  type KernelExports,
  supports,
} from "../../src/kernels/module.ts";
import { packLstm } from "../../src/kernels/pack_cells.ts";
import { encodeModel } from "./onnx_model.ts";
import {
  createSession,
  loadOrtWeb,
  type Ort,
  ORT_WEB_VERSION,
} from "./ort_web.ts";
import { measurePeaks } from "./probes.ts";
import { bestTimesNs } from "./timing.ts";

const SEED = 1;
/** Largest difference allowed between own and peer results of one step. */
const TOLERANCE = 2e-5;
/** A round of one contestant takes at least about this long. */
const ROUND_NS = 2e7;

interface Weights {
  w: Float32Array;
  r: Float32Array;
  b: Float32Array;
}

interface Contestant {
  name: string;
  step(): void | Promise<unknown>;
  /** h' and c' of the last step, [batch][hidden] each. */
  state(): { h: Float32Array; c: Float32Array };
}

interface Inputs {
  batch: number;
  hidden: number;
  x: Float32Array;
  h: Float32Array;
  c: Float32Array;
}

/** One of our builds; weights are packed into its memory once, rows are laid for each batch. */
function ownBuild(
  file: string,
  hidden: number,
  batchMax: number,
  weights: Weights,
) {
  const packed = packLstm({ hidden, inputSize: hidden, ...weights });
  const rowBytes = 4 * hidden;
  const needed = 65536 + 4 * packed.length + 5 * batchMax * (rowBytes + 4) + 64;
  const memory = new WebAssembly.Memory({
    initial: Math.ceil(needed / 65536) + 1,
  });
  const bytes = readFileSync(new URL(`../../build/${file}`, import.meta.url));
  const kernels: KernelExports = instantiateKernels(new Uint8Array(bytes), {
    memory,
  });
  const floats = new Float32Array(memory.buffer);
  const words = new Uint32Array(memory.buffer);
  const w = kernels.shoal_static_end();
  floats.set(packed, w / 4);
  const free = w + 4 * packed.length;
  return ({ batch, x, h, c }: Inputs): Contestant => {
    let top = free;
    const rows = (data?: Float32Array) => {
      const table = top;
      const first = (table + 4 * batch + 63) & ~63;
      for (let i = 0; i < batch; ++i) {
        words[table / 4 + i] = first + i * rowBytes;
      }
      if (data !== undefined) floats.set(data, first / 4);
      top = first + batch * rowBytes;
      return { table, view: floats.subarray(first / 4, top / 4) };
    };
    const [xs, hs, cs, hOut, cOut] = [
      rows(x),
      rows(h),
      rows(c),
      rows(),
      rows(),
    ];
    return {
      name: file.replace(
        /^shoal\.(?:(.*)\.)?wasm$/,
        (_, build) => build ?? "deterministic",
      ),
      step: () =>
        kernels.lstm_step_f32(
          ...[batch, hidden, hidden, xs.table, hs.table, cs.table] as const,
          ...[w, hOut.table, cOut.table] as const,
        ),
      state: () => ({ h: hOut.view, c: cOut.view }),
    };
  };
}

/** onnxruntime-web on the same weights and inputs. */
async function peer(
  ort: Ort,
  inputs: Inputs,
  weights: Weights,
): Promise<Contestant> {
  const { batch, hidden, x, h, c } = inputs;
  const state = [1, batch, hidden];
  const session = await createSession(
    ort,
    encodeModel({
      nodes: [{
        opType: "LSTM",
        inputs: ["X", "W", "R", "B", "", "h", "c"],
        outputs: ["", "hOut", "cOut"],
        attributes: { hidden_size: hidden },
      }],
      constants: [
        { name: "W", shape: [1, 4 * hidden, hidden], data: weights.w },
        { name: "R", shape: [1, 4 * hidden, hidden], data: weights.r },
        { name: "B", shape: [1, 8 * hidden], data: weights.b },
      ],
      inputs: ["X", "h", "c"].map((name) => ({ name, shape: state })),
      outputs: ["hOut", "cOut"].map((name) => ({ name, shape: state })),
    }),
  );
  const tensor = (data: Float32Array) => new ort.Tensor("float32", data, state);
  const feeds = { X: tensor(x), h: tensor(h), c: tensor(c) };
  let last = await session.run(feeds);
  return {
    name: "onnxruntime-web",
    step: async () => last = await session.run(feeds),
    state: () => ({ h: last.hOut.data, c: last.cOut.data }),
  };
}

function maxDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((max, value, i) => Math.max(max, Math.abs(value - b[i])), 0);
}

const { values: args } = parseArgs({
  args: process.argv.slice(2),
  options: {
    json: { type: "boolean", default: false },
    hidden: { type: "string", default: "1024" },
    batch: { type: "string", default: "1,4,16,64,256" },
    rounds: { type: "string", default: "9" },
  },
});
const hidden = Number(args.hidden);
const batches = args.batch.split(",").map(Number);
const rounds = Number(args.rounds);
const prng = new Prng(SEED);
const draw = (length: number, scale: number) =>
  Float32Array.from({ length }, () => (prng.float() * 2 - 1) * scale);
const scale = 1 / Math.sqrt(hidden);
const weights: Weights = {
  w: draw(4 * hidden * hidden, scale),
  r: draw(4 * hidden * hidden, scale),
  b: draw(8 * hidden, scale),
};

const relaxed = supports("relaxed-simd");
const ort = await loadOrtWeb();
const peaks = await measurePeaks(relaxed);
const own = ["shoal.wasm", ...relaxed ? ["shoal.relaxed.wasm"] : []]
  .map((file) => ownBuild(file, hidden, Math.max(...batches), weights));

const results = [];
for (const batch of batches) {
  process.stderr.write(`batch ${batch}\n`);
  const [x, h, c] = [1, 1, 1].map((range) => draw(batch * hidden, range));
  const inputs: Inputs = { batch, hidden, x, h, c };
  const reference = await peer(ort, inputs, weights);
  const contestants = [...own.map((build) => build(inputs)), reference];
  const differences: number[] = [];
  for (const contestant of contestants) {
    await contestant.step();
    const got = contestant.state();
    const expected = reference.state();
    const difference = Math.max(
      maxDifference(got.h, expected.h),
      maxDifference(got.c, expected.c),
    );
    if (!(difference <= TOLERANCE)) {
      throw new Error(
        `${contestant.name} differs from the peer by ${difference} at batch ${batch}`,
      );
    }
    differences.push(difference);
  }
  const flops = 2 * batch * 4 * hidden * 2 * hidden;
  const calls = Math.max(1, Math.round(ROUND_NS / (flops / 40)));
  const times = await bestTimesNs(contestants.map(({ step }) => step), {
    rounds,
    calls,
  });
  const peerNs = times[times.length - 1];
  results.push({
    batch,
    contestants: contestants.map(({ name }, i) => ({
      name,
      gflops: flops / times[i],
      timeNs: Math.round(times[i]),
      ratioToPeer: peerNs / times[i],
      maxAbsDifference: differences[i],
    })),
  });
}

const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  runtime: `${navigator.userAgent}, V8 ${process.versions.v8}`,
  peer: `onnxruntime-web ${ORT_WEB_VERSION}, 1 thread`,
  ...peaks,
};
if (args.json) {
  console.log(
    JSON.stringify({ seed: SEED, hidden, rounds, machine, results }, null, 2),
  );
} else {
  const peak = (rate: number | undefined) =>
    rate === undefined ? "none" : `${rate.toFixed(1)} GFLOP/s`;
  console.log(
    `LSTM step, hidden ${hidden}, one thread, seed ${SEED}, best of ${rounds} rounds`,
  );
  console.log(`${machine.cpu}; ${machine.runtime}; ${machine.peer}`);
  console.log(
    `probes: mul+add ${peak(peaks.mulAdd)}, relaxed madd ${
      peak(peaks.relaxedMadd)
    }\n`,
  );
  console.log(
    "batch  build             GFLOP/s    us/step  ratio to peer  max |difference|",
  );
  for (const { batch, contestants } of results) {
    for (
      const { name, gflops, timeNs, ratioToPeer, maxAbsDifference }
        of contestants
    ) {
      console.log(
        `${String(batch).padStart(5)}  ${name.padEnd(16)} ${
          gflops.toFixed(1).padStart(8)
        } ` +
          `${(timeNs / 1000).toFixed(0).padStart(10)} ${
            ratioToPeer.toFixed(2).padStart(14)
          } ` +
          `${maxAbsDifference.toExponential(1).padStart(17)}`,
      );
    }
  }
}
