/** A model of streams of audio, frame by frame as requests that bring its states. */
import type { FrameData, StreamModel } from "../../src/graph/stream_model.ts";
import { runRequests } from "../run_requests.ts";

export type States = Record<string, FrameData>;

/**
 * @param hop samples of a frame; what is left of a signal behind the last whole one is not taken
 * @returns what comes out, one frame behind the other, and the last states
 */
export function runFrames<Out extends string>(
  model: StreamModel<"samples", Readonly<Record<Out, "f32">>>,
  signal: Float32Array,
  { hop, out, initial = {} }: { hop: number; out: Out; initial?: States },
): { out: Float32Array; states: States } {
  const made: number[] = [];
  let states = initial;
  for (let at = 0; at + hop <= signal.length; at += hop) {
    const input = { samples: signal.subarray(at, at + hop), ...states };
    const [result] = runRequests(model, [input], { slotBytes: 2 ** 24 });
    made.push(...result[out].data as Float32Array);
    states = Object.fromEntries(
      Object.keys(model.stream.states).map((name) => [name, result[name].data]),
    );
  }
  return { out: Float32Array.from(made), states };
}

/** 10 log10 of the powers' ratio of a signal and what is wrong with it. */
export function signalToNoise(
  signal: Float32Array,
  noisy: Float32Array,
): number {
  let [power, noise] = [0, 0];
  signal.forEach((value, i) => {
    power += value ** 2;
    noise += (noisy[i] - value) ** 2;
  });
  return 10 * Math.log10(power / noise);
}
