/**
 * Callers who send sound and get it back without its noise: each socket is a stream of one engine. What goes over a
 * socket are samples at 16 kHz, 16 bits with a sign, little-endian, as many a message as one likes; the text "reset"
 * begins again. What comes back are as many samples, the model's delay later.
 */
import type { ServingEngine, StreamModel } from "@shoal/core";

/** A model that takes and gives samples. */
export type SoundModel = StreamModel<"samples", { samples: "f32" }>;

export interface CallersOptions {
  engine: ServingEngine;
  model: SoundModel;
  /** Callers at once; a further one is turned away. Default 1,000. */
  callersMax?: number;
  /** A frame that is not done by then goes back as it came. Default 250. */
  deadlineMs?: number;
}

const CALLERS_MAX = 1000;
const DEADLINE_MS = 250;
/** Bytes of a message, two seconds of sound. */
const MESSAGE_MAX = 2 ** 16;
/** Bytes that a caller may have sent and not got back, or not read: four seconds of sound. */
const AHEAD_MAX = 2 ** 17;
/** Frames of a caller in the engine at once. */
const FRAMES_AHEAD = 16;
const SCALE = 2 ** 15;

/** Close codes of RFC 6455, section 7.4.1, and of the registry of WebSocket close codes. */
const CLOSE = {
  unsupported: 1003,
  tooLarge: 1009,
  failed: 1011,
  tryLater: 1013,
};

/** Sockets on one engine. */
export class Callers {
  readonly #options: Required<CallersOptions>;
  #count = 0;
  #passed = 0;

  constructor(options: CallersOptions) {
    this.#options = {
      callersMax: CALLERS_MAX,
      deadlineMs: DEADLINE_MS,
      ...options,
    };
  }

  /** Callers that are there. */
  get count(): number {
    return this.#count;
  }

  /** Frames that went back as they came, because they were late. */
  get passed(): number {
    return this.#passed;
  }

  /** Serves a socket that is about to open, until it closes. */
  accept(socket: WebSocket): void {
    const { engine, model, callersMax, deadlineMs } = this.#options;
    socket.binaryType = "arraybuffer";
    if (this.#count >= callersMax) {
      whenOpen(socket, () => socket.close(CLOSE.tryLater, "too many callers"));
      return;
    }
    const hop = model.stream.inputs.samples.width;
    let stream: ReturnType<typeof engine.open<"samples", { samples: "f32" }>>;
    try {
      stream = engine.open(model, { deadlineMs, pendingMax: FRAMES_AHEAD });
    } catch (error) {
      whenOpen(socket, () => socket.close(CLOSE.tryLater, reasonOf(error)));
      return;
    }
    this.#count++;
    /** Samples that are no whole frame yet. */
    let rest = new Float32Array(0);
    let aheadBytes = 0;
    let line = Promise.resolve();

    const frameOf = async (samples: Float32Array): Promise<Float32Array> => {
      try {
        return (await stream.push({ samples })).outputs.samples.data;
      } catch (error) {
        if ((error as Error).name !== "DeadlineError") throw error;
        this.#passed++;
        return samples;
      }
    };
    const answer = async (data: ArrayBuffer): Promise<void> => {
      const given = soundOf(data);
      const all = new Float32Array(rest.length + given.length);
      all.set(rest);
      all.set(given, rest.length);
      const whole = all.length - all.length % hop;
      rest = all.slice(whole);
      const out = new Int16Array(whole);
      for (let from = 0; from < whole; from += FRAMES_AHEAD * hop) {
        const frames: Promise<Float32Array>[] = [];
        const end = Math.min(whole, from + FRAMES_AHEAD * hop);
        for (let at = from; at < end; at += hop) {
          frames.push(frameOf(all.subarray(at, at + hop)));
        }
        (await Promise.all(frames)).forEach((samples, i) =>
          writeSound(samples, out, from + i * hop)
        );
      }
      if (socket.readyState === WebSocket.OPEN) socket.send(out);
    };
    socket.onmessage = ({ data }) => {
      const isReset = data === "reset";
      if (
        !isReset && !(data instanceof ArrayBuffer && data.byteLength % 2 === 0)
      ) {
        socket.close(CLOSE.unsupported, "samples of 16 bits, or reset");
        return;
      }
      const bytes = isReset ? 0 : (data as ArrayBuffer).byteLength;
      if (bytes > MESSAGE_MAX) {
        socket.close(CLOSE.tooLarge, `${MESSAGE_MAX} bytes a message`);
        return;
      }
      aheadBytes += bytes;
      if (aheadBytes + socket.bufferedAmount > AHEAD_MAX) {
        socket.close(CLOSE.tryLater, "too far ahead; read what comes back");
        return;
      }
      line = line.then(async () => {
        if (isReset) {
          rest = new Float32Array(0);
          await stream.reset();
        } else await answer(data);
        aheadBytes -= bytes;
      }).catch((error) => socket.close(CLOSE.failed, reasonOf(error)));
    };
    socket.onclose = () => {
      this.#count--;
      void stream.close("reject");
    };
  }
}

/** Samples from -1 to 1. */
export function soundOf(data: ArrayBuffer): Float32Array {
  const view = new DataView(data);
  return Float32Array.from(
    { length: data.byteLength / 2 },
    (_, i) => view.getInt16(2 * i, true) / SCALE,
  );
}

/** Samples as 16 bits; what is too loud is cut off. */
export function writeSound(
  samples: Float32Array,
  out: Int16Array,
  at: number,
): void {
  for (let i = 0; i < samples.length; i++) {
    const value = Math.round(samples[i] * SCALE);
    out[at + i] = Math.max(-SCALE, Math.min(SCALE - 1, value));
  }
}

function whenOpen(socket: WebSocket, then: () => void): void {
  if (socket.readyState === WebSocket.OPEN) then();
  else socket.onopen = then;
}

/** What a close frame has room for: 123 bytes. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/[^ -~]/g, "?").slice(0, 120);
}
