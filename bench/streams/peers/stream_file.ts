/** A file of a step in ONNX Runtime: sessions of it, and what a stream keeps beside one. */
import { readModel } from "../../../src/onnx/read/read_model.ts";
import { elementCount } from "../../../src/tensor/tensor.ts";
import {
  createSession,
  ORT_TYPES,
  type OrtSession,
  type OrtTensor,
} from "../../kernels/peers/ort.ts";
import type { StepFile } from "../models.ts";
import type { StreamPeer } from "./runtimes.ts";

/** Runs a frame [numbers of the file's first input] and gives the file's first output; states are carried over. */
export type RunFile = (frame: Float32Array) => Promise<Float32Array>;

const RATE_HZ = 16_000n;

/** What is looked up once for all sessions and streams. */
export class StreamFile {
  /** Numbers of a frame, of all rows. */
  readonly width: number;
  readonly #frame: { name: string; dims: readonly number[] };
  readonly #result: string;
  readonly #states: readonly (readonly [input: string, output: string])[];
  /** Zeros for states, the sampling rate where a file asks for one. */
  readonly #first: Readonly<Record<string, OrtTensor>>;

  constructor(readonly peer: StreamPeer, readonly step: StepFile) {
    const { Tensor } = peer.ort;
    const { inputs, outputs } = readModel(step.bytes).graph;
    const [frame, ...others] = inputs.map(({ name, type, dims }) => ({
      ...{ name, type },
      dims: (dims ?? []).map(Number),
    }));
    this.width = elementCount(frame.dims);
    this.#frame = frame;
    this.#result = outputs[0].name;
    this.#states = Object.entries(step.states);
    this.#first = Object.fromEntries(others.map(({ name, type, dims }) => [
      name,
      type === "int64"
        ? new Tensor(ORT_TYPES.i64, BigInt64Array.of(RATE_HZ), dims)
        : new Tensor(ORT_TYPES.f32, new Float32Array(elementCount(dims)), dims),
    ]));
  }

  session(): Promise<OrtSession> {
    const { ort, provider } = this.peer;
    return createSession(ort, this.step.bytes, { provider });
  }

  /** A stream's frames in a session, which other streams may use as well: the states are the stream's. */
  open(session: OrtSession): RunFile {
    const { Tensor } = this.peer.ort;
    const feeds = { ...this.#first };
    const { name, dims } = this.#frame;
    return async (frame) => {
      feeds[name] = new Tensor(ORT_TYPES.f32, frame, dims);
      const results = await session.run(feeds);
      for (const [input, output] of this.#states) {
        feeds[input] = results[output];
      }
      return results[this.#result].data as Float32Array;
    };
  }
}
