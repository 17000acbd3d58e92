/** How fast a stretch of memory is read by several threads at once, a share each. */
import { isShared } from "../../src/kernels/module/module.ts";
import {
  instantiateReader,
  LAST_TURN,
  readable,
  type ReadingStart,
} from "./reader.ts";
import { readerModule } from "./reading.ts";
import { bestTimesNs } from "./timing.ts";

/** A stretch of memory. */
export interface Stretch {
  memory: WebAssembly.Memory;
  from: number;
  bytes: number;
}

const ROUND_NS = 2e6;
const ROUNDS = 15;
/** Bytes a nanosecond, to find out how often to read in a round. */
const EXPECTED_RATE = 50;

/**
 * GB/s, best of 15 rounds, of reading all but a few bytes over and over.
 * @param threads more than one only over a shared memory; the others spin meanwhile
 */
export async function readingRate(
  { memory, from, bytes }: Stretch,
  threads: number,
): Promise<number> {
  const module = await readerModule(isShared(memory));
  const share = readable(bytes / threads);
  const words = new Int32Array(new SharedArrayBuffer(4 * threads));
  const helpers = await Promise.all(
    Array.from({ length: threads - 1 }, (_, i) => {
      const thread = i + 1;
      return startThread({
        ...{ module, memory, words, thread },
        ...{ from: from + thread * share, bytes: share },
      });
    }),
  );
  const read = instantiateReader(module, memory);
  let turn = 0;
  const run = () => {
    Atomics.store(words, 0, ++turn);
    read(from, share);
    for (let thread = 1; thread < threads; ++thread) {
      while (Atomics.load(words, thread) !== turn);
    }
  };
  const calls = Math.max(1, Math.round(ROUND_NS * EXPECTED_RATE / bytes));
  const [ns] = await bestTimesNs([run], { rounds: ROUNDS, calls });
  Atomics.store(words, 0, LAST_TURN);
  for (const helper of helpers) helper.terminate();
  return threads * share / ns;
}

function startThread(start: ReadingStart): Promise<Worker> {
  const worker = new Worker(new URL("./reading_thread.ts", import.meta.url), {
    type: "module",
  });
  return new Promise((resolve, reject) => {
    // Deno drops messages that nobody listens for yet.
    worker.addEventListener("message", ({ data }) => {
      if (data === "loaded") worker.postMessage(start);
      else resolve(worker);
    });
    worker.addEventListener(
      "error",
      ({ message }) =>
        reject(new Error(`A reading thread does not start: ${message}`)),
    );
  });
}
