/** Reading memory and nothing else: what kernels that are bound by memory are quoted against. */
// @ts-types="../../src/cli/asc.d.ts"
import asc from "assemblyscript/asc";
import { isShared } from "../../src/kernels/module/module.ts";

/** Four streams, a quarter of the bytes each: one alone does not use all that memory gives. */
const STREAMS = 4;
const LINE = 64;

const STEP = Array.from(
  { length: 16 },
  (_, i) =>
    `${"abcd"[i % STREAMS]} = v128.or(${"abcd"[i % STREAMS]}, v128.load(p${
      i % STREAMS
    }, ${16 * Math.floor(i / STREAMS)}));`,
).join("\n");
const SOURCE = `export function read(from: usize, stride: usize): i32 {
  let a = v128.splat<i32>(0), b = a, c = a, d = a;
  let p0 = from, p1 = p0 + stride, p2 = p1 + stride, p3 = p2 + stride;
  for (const end = p1; p0 < end; p0 += ${LINE}, p1 += ${LINE}, p2 += ${LINE}, p3 += ${LINE}) {
    ${STEP}
  }
  return i32x4.extract_lane(v128.or(v128.or(a, b), v128.or(c, d)), 0);
}`;

/** Reads bytes from an address on, all but fewer than 256 of them; see {@linkcode readable}. */
export interface Reader {
  (from: number, bytes: number): void;
}

/** Bytes of which a {@linkcode Reader} reads all. */
export function readable(bytes: number): number {
  return Math.floor(bytes / (STREAMS * LINE)) * STREAMS * LINE;
}

/** Something that reads a memory of at least a megabyte, on one thread. */
export async function compileReader(
  memory: WebAssembly.Memory,
): Promise<Reader> {
  const { binary, stderr } = await asc.compileString(SOURCE, {
    optimizeLevel: 1,
    runtime: "stub",
    noAssert: true,
    importMemory: true,
    initialMemory: 16,
    ...(isShared(memory)
      ? {
        sharedMemory: true,
        maximumMemory: 65536,
        enable: ["simd", "threads"],
      }
      : { enable: ["simd"] }),
  });
  if (!binary) throw new Error(`Cannot compile the reader: ${stderr}`);
  const { instance } = await WebAssembly.instantiate(
    binary as Uint8Array<ArrayBuffer>,
    { env: { memory, abort() {} } },
  );
  const read = instance.exports.read as (
    from: number,
    stride: number,
  ) => number;
  return (from, bytes) => void read(from, readable(bytes) / STREAMS);
}
