/** What is streamed, and the same for ONNX Runtime: step models of our own, and the published denoiser and detector where their files are given. */
import { readFile } from "node:fs/promises";
import { Prng } from "../../src/base/prng.ts";
import type { Frame, StreamModel } from "../../src/graph/stream_model.ts";
import { dtln } from "../../src/models/dtln.ts";
import { gruStream, lstmStream } from "../../src/models/rnn_stream.ts";
import { silero } from "../../src/models/silero.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { quantizeOnnx } from "../../src/onnx/quantize.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainTensor } from "../../src/tensor/plain_tensor.ts";
import {
  type Caller,
  dtlnCaller,
  sileroCaller,
  stepCaller,
} from "./peers/callers.ts";
import { withRows } from "./peers/with_rows.ts";
import { stepFile } from "./step_file.ts";

/** A model with its frames. */
export interface StreamSubject {
  readonly name: string;
  readonly model: StreamModel;
  /** From one frame of a source to its next. */
  readonly periodMs: number;
  /** What a source's frame brings: one of a few that were drawn beforehand. */
  frame(stream: number, frame: number): Frame;
  readonly onPeers: PeerSubject;
}

/** The same model for ONNX Runtime. */
export interface PeerSubject {
  /** Names of what a frame brings and of what it gives, in ours. */
  readonly input: string;
  readonly output: string;
  /** Files that take the frames of so many streams at once; undefined where they cannot. */
  files(rows: number): readonly StepFile[] | undefined;
  readonly caller: Caller;
}

/** An ONNX file of a step: frames come in first. */
export interface StepFile {
  readonly bytes: Uint8Array;
  /** By name of an input the output that it is in the next frame. */
  readonly states: Readonly<Record<string, string>>;
}

/** Where files are. */
export interface StreamFiles {
  /** Both files of the denoiser, in order. */
  readonly dtln?: readonly [string, string];
  readonly silero?: string;
  /** Whether the same with weights of int8 is streamed as well. */
  readonly int8?: boolean;
}

/** Units of the step models. */
const UNITS = [64, 128, 256];
/** Numbers of their frames, one every so many milliseconds: filter banks of speech. */
const FEATURES = 40;
const FEATURES_MS = 10;
/** Samples of the denoiser's hop and the detector's, at 16 kHz. */
const DTLN_HOP = 128;
const SILERO_HOP = 512;
/** The detector's window, with the last samples of the one before, and its state. */
const SILERO_SHAPES = { input: [1, SILERO_HOP + 64], state: [2, 1, 128] };
const SAMPLES_PER_MS = 16;
/** Different frames. */
const POOL = 61;

type BytesOf = (path: string) => Promise<Uint8Array>;
/** Files as they are, and their names' endings. */
const FLOATS: [string, BytesOf] = ["", (path) => readFile(path)];
/** With weights of int8, of LSTMs, too. */
const BYTES: [string, BytesOf] = [
  "-int8",
  async (path) => (await quantizeOnnx(path, { recurrent: true })).bytes,
];

/** Makes the models by name. */
export type SubjectMakers = Readonly<
  Record<string, () => StreamSubject | Promise<StreamSubject>>
>;

export function subjectMakers(
  { dtln: parts, silero: file, int8 = false }: StreamFiles,
  seed: number,
): SubjectMakers {
  const makers: Record<string, () => StreamSubject | Promise<StreamSubject>> =
    {};
  for (const [suffix, bytesOf] of int8 ? [FLOATS, BYTES] : [FLOATS]) {
    if (parts) {
      const name = `dtln${suffix}`;
      makers[name] = async () => {
        const files = await Promise.all(parts.map(bytesOf));
        const [model1, model2] = await Promise.all(
          files.map((file) => loadOnnx(file)),
        );
        return {
          name,
          model: dtln({ model1, model2 }),
          periodMs: DTLN_HOP / SAMPLES_PER_MS,
          frame: frames("samples", DTLN_HOP, seed),
          onPeers: {
            ...{ input: "samples", output: "samples" },
            // Inside of both a state is split as one row's.
            files: (rows) => rows > 1 ? undefined : files.map(publishedFile),
            caller: dtlnCaller(),
          },
        };
      };
    }
    if (file !== undefined) {
      const name = `silero${suffix}`;
      makers[name] = async () => {
        const rate = plainTensor("int64", [], BigInt64Array.of(16_000n));
        const constants = new Map([["sr", rate]]);
        const bytes = await bytesOf(file);
        return {
          name,
          // The published files leave these sizes open.
          model: silero(
            await loadOnnx(bytes, { constants, shapes: SILERO_SHAPES }),
          ),
          periodMs: SILERO_HOP / SAMPLES_PER_MS,
          frame: frames("samples", SILERO_HOP, seed),
          onPeers: {
            ...{ input: "samples", output: "speech" },
            files: (rows) => [publishedFile(withRows(bytes, rows))],
            caller: sileroCaller,
          },
        };
      };
    }
  }
  for (
    const [kind, make] of [["lstm", lstmStream], ["gru", gruStream]] as const
  ) {
    for (const hidden of UNITS) {
      const name = `${kind}-${hidden}`;
      makers[name] = () => ({
        name,
        model: make({ hidden, features: FEATURES }),
        periodMs: FEATURES_MS,
        frame: frames("x", FEATURES, seed),
        onPeers: {
          ...{ input: "x", output: "h" },
          files: (rows) => [stepFile(kind, hidden, FEATURES, rows)],
          caller: stepCaller,
        },
      });
    }
  }
  return makers;
}

/** Frame and state are taken and given by their place. */
function publishedFile(bytes: Uint8Array): StepFile {
  const { inputs, outputs } = readModel(bytes).graph;
  return { bytes, states: { [inputs[1].name]: outputs[1].name } };
}

/** Seeded noise. */
function frames(
  input: string,
  width: number,
  seed: number,
): StreamSubject["frame"] {
  const prng = new Prng(seed).fork("frames");
  const pool = Array.from({ length: POOL }, () => ({
    [input]: Float32Array.from(
      { length: width },
      () => 0.2 * prng.float() - 0.1,
    ),
  }));
  return (stream, frame) => pool[(7 * stream + frame) % POOL];
}
