/** Reading memory and nothing else: what kernels that are bound by memory are quoted against. */
// @ts-types="../../src/cli/asc.d.ts"
import asc from "assemblyscript/asc";
import { isShared } from "../../src/kernels/module/module.ts";
import { instantiateReader, LINE, type Reader, STREAMS } from "./reader.ts";

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

/** Something that reads a memory of at least a megabyte, on one thread. */
export async function compileReader(
  memory: WebAssembly.Memory,
): Promise<Reader> {
  return instantiateReader(await readerModule(isShared(memory)), memory);
}

const modules = new Map<boolean, Promise<WebAssembly.Module>>();

/** The module behind a {@linkcode Reader}, compiled once for each kind of memory. */
export function readerModule(shared: boolean): Promise<WebAssembly.Module> {
  const known = modules.get(shared) ?? compiled(shared);
  modules.set(shared, known);
  return known;
}

async function compiled(shared: boolean): Promise<WebAssembly.Module> {
  const { binary, stderr } = await asc.compileString(SOURCE, {
    optimizeLevel: 1,
    runtime: "stub",
    noAssert: true,
    importMemory: true,
    initialMemory: 16,
    ...(shared
      ? {
        sharedMemory: true,
        maximumMemory: 65536,
        enable: ["simd", "threads"],
      }
      : { enable: ["simd"] }),
  });
  if (!binary) throw new Error(`Cannot compile the reader: ${stderr}`);
  return await WebAssembly.compile(binary as Uint8Array<ArrayBuffer>);
}
