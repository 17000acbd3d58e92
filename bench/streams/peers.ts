/**
 * The same files in ONNX Runtime: sessions that are run frame by frame, states handed back in. A peer's streams are as
 * many as fit into a period one after the other: without transforms, overlap-add and context, without waiting, and no
 * frame late by chance. That is more than it would carry.
 */
import { Prng } from "../../src/base/prng.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { install, requirePeer } from "../kernels/peers/install.ts";
import {
  createSession,
  loadOrtWeb,
  type Ort,
  ORT_TYPES,
  ORT_VERSION,
  type OrtSession,
  type OrtTensor,
} from "../kernels/peers/ort.ts";
import { timePerRequest } from "../onnx/timing.ts";
import type { StepFile } from "./models.ts";

/** A runtime of ONNX files. */
export interface StreamPeer {
  readonly name: string;
  readonly ort: Ort;
  readonly provider: "wasm" | "cpu";
}

/** Both, installed if they are missing. */
export async function streamPeers(): Promise<StreamPeer[]> {
  install({ "onnxruntime-node": ORT_VERSION });
  return [
    {
      name: `onnxruntime-web ${ORT_VERSION}`,
      ort: await loadOrtWeb(),
      provider: "wasm",
    },
    {
      name: `onnxruntime-node ${ORT_VERSION}`,
      ort: requirePeer("onnxruntime-node") as Ort,
      provider: "cpu",
    },
  ];
}

const LEAST_MS = 400;
const WARM_MS = 200;
const RATE_HZ = 16_000n;

/** Best of three: milliseconds of a frame of all their streams through files in turn. */
export async function peerFrameMs(
  { ort, provider }: StreamPeer,
  files: readonly StepFile[],
): Promise<number> {
  const stages = await Promise.all(
    files.map((file) => openStage(ort, provider, file)),
  );
  const ask = async () => {
    for (const stage of stages) await stage.run();
  };
  await timePerRequest(ask, { lanes: 1, leastMs: WARM_MS });
  let best = Infinity;
  for (let round = 0; round < 3; round++) {
    const ms = await timePerRequest(ask, { lanes: 1, leastMs: LEAST_MS });
    best = Math.min(best, ms);
  }
  for (const { session } of stages) await session.release();
  return best;
}

interface Stage {
  readonly session: OrtSession;
  run(): Promise<void>;
}

async function openStage(
  ort: Ort,
  provider: "wasm" | "cpu",
  { bytes, states }: StepFile,
): Promise<Stage> {
  const { inputs } = await loadOnnx(bytes);
  const session = await createSession(ort, bytes, { provider });
  const prng = new Prng(1);
  const feeds: Record<string, OrtTensor> = {};
  for (const { name, dtype, shape } of inputs) {
    if (dtype === "i64") {
      const rate = BigInt64Array.of(RATE_HZ);
      feeds[name] = new ort.Tensor(ORT_TYPES.i64, rate, shape);
      continue;
    }
    const data = new Float32Array(elementCount(shape));
    if (states[name] === undefined) {
      data.forEach((_, i) => data[i] = 0.2 * prng.float() - 0.1);
    }
    feeds[name] = new ort.Tensor(ORT_TYPES.f32, data, shape);
  }
  return {
    session,
    async run() {
      const results = await session.run(feeds);
      for (const [input, output] of Object.entries(states)) {
        feeds[input] = results[output];
      }
    },
  };
}
