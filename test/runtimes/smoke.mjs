/**
 * Runs the bundled library in whatever runtime executes this file, and prints the hash of its results: on
 * threads, then in this thread.
 */
import * as kernels from "../../build/dist/kernels.js";
import * as serving from "../../build/dist/mod.js";
import * as npu from "../../build/dist/npu.js";
import * as simulate from "../../build/dist/simulate.js";
import { smokeLoad } from "./smoke_load.mjs";

const doors = { kernels, npu, serving, simulate };
console.log(await smokeLoad(doors, "threads"));
console.log(await smokeLoad(doors, "this thread"));
