/**
 * A process of its own, with `--expose-gc`: says how many bytes a socket's reader holds of a message that came in very
 * many frames, and of a frame that came in very many pieces.
 */
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { SocketReader } from "../../../src/server/runtime/socket_frames.ts";

const COUNT = 60_000;
const SIZE_MAX = 2 ** 17;

/** Begins a text that goes on; its mask is 0. */
const BEGUN = Uint8Array.of(1, 128, 0, 0, 0, 0);
/** Goes on, with nothing. */
const EMPTY = Uint8Array.of(0, 128, 0, 0, 0, 0);
/** Goes on, with a letter. */
const SHORT = Uint8Array.of(0, 129, 0, 0, 0, 0, 97);
/** The beginning of a frame of 2^17 bytes. */
const LARGE = Uint8Array.of(1, 255, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0);

const { gc } = globalThis as unknown as { gc(): void };

/** @param piece comes again and again, behind the first one */
async function heldBytes(
  first: Uint8Array,
  piece: Uint8Array,
): Promise<number> {
  const bytes = async () => {
    gc();
    // Buffers are given back by another thread.
    await setTimeout(100);
    gc();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const reader = new SocketReader(SIZE_MAX);
  const take = (piece: Uint8Array) => {
    for (const message of reader.push(piece.slice())) throw message;
  };
  take(first);
  const before = await bytes();
  for (let i = 0; i < COUNT; i++) take(piece);
  const held = await bytes() - before;
  take(piece);
  return held;
}

// What is compiled is in the heap, too.
await heldBytes(BEGUN, SHORT);
await heldBytes(LARGE, Uint8Array.of(97));
console.log(JSON.stringify({
  "empty frames": await heldBytes(BEGUN, EMPTY),
  "short frames": await heldBytes(BEGUN, SHORT),
  "short pieces": await heldBytes(LARGE, Uint8Array.of(97)),
}));
