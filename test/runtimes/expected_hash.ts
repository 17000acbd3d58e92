import * as kernels from "../../src/kernels.ts";
import * as serving from "../../src/mod.ts";
import * as npu from "../../src/npu.ts";
import * as simulate from "../../src/simulate.ts";
import { smokeLoad } from "./smoke_load.mjs";

let hash: Promise<string> | undefined;

/** What the small load gives with the sources, on threads. */
export function expectedHash(): Promise<string> {
  return hash ??= smokeLoad({ kernels, npu, serving, simulate }, "threads");
}
