/** The example in Deno, Node or Bun: `node examples/embed/main.js`. */
import { readFileSync } from "node:fs";
import { report } from "./embed.js";

const [plain, dot] = ["shoal.wasm", "shoal.dot.wasm"].map((file) =>
  readFileSync(new URL(`../../build/${file}`, import.meta.url))
);
console.log(await report(plain, dot));
