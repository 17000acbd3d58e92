/** The example in Deno, Node or Bun: `node examples/embed/main.js`. */
import { readFileSync } from "node:fs";
import { run } from "./embed.js";

const module = new URL("../../build/shoal.wasm", import.meta.url);
const { gemm, lstm } = await run(readFileSync(module));
console.log(`gemm ${gemm}\nlstm ${lstm}`);
