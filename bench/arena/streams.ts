/**
 * Live streams: a denoiser's and a voice detector's sources, as many of each, on models of their kind of one recurrent
 * cell (the published ones, DTLN and Silero, are files).
 *
 * Periods are multiples of a frame's time alone, so that devices of any speed have tens of streams and not thousands
 * that make one frame each. Assumption: 20 and 80, as DTLN's 8 ms and Silero's 32 ms are on a core.
 */
import type { StreamModel } from "../../src/graph/stream_model.ts";
import type { SizeClass } from "../../src/models/registry.ts";
import { gruStream, lstmStream } from "../../src/models/rnn_stream.ts";
import type { WeightSource } from "../../src/tensor/weights.ts";

/** Sources that are alike. */
export interface StreamGroup {
  readonly frame: {
    readonly model: StreamModel;
    readonly input: Readonly<Record<string, Float32Array>>;
  };
  /** From one frame of a source to its next, in multiples of a frame's mean time alone. */
  readonly periodAlone: number;
}

/** Units by size class; a million weights in the denoiser as in DTLN where they are `full`. */
const SIZES: Readonly<
  Record<SizeClass, { denoiser: number; detector: number }>
> = {
  small: { denoiser: 64, detector: 32 },
  medium: { denoiser: 128, detector: 64 },
  large: { denoiser: 256, detector: 128 },
  full: { denoiser: 384, detector: 192 },
};
/** Numbers of a frame: bins of a spectrum of 512 samples, and of one of 256. */
const DENOISER_BINS = 257;
const DETECTOR_BINS = 129;
const DENOISER_PERIOD = 20;
const DETECTOR_PERIOD = 80;

export function streamGroups(
  size: SizeClass,
  weights: WeightSource,
): StreamGroup[] {
  const { denoiser, detector } = SIZES[size];
  return [
    {
      frame: {
        model: lstmStream({
          hidden: denoiser,
          features: DENOISER_BINS,
          classes: DENOISER_BINS,
          weights,
        }),
        input: { x: new Float32Array(DENOISER_BINS) },
      },
      periodAlone: DENOISER_PERIOD,
    },
    {
      frame: {
        model: gruStream({
          hidden: detector,
          features: DETECTOR_BINS,
          classes: 1,
          weights,
        }),
        input: { x: new Float32Array(DETECTOR_BINS) },
      },
      periodAlone: DETECTOR_PERIOD,
    },
  ];
}
