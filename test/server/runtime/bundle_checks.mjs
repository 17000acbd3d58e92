/** The package's own server in whatever runtime executes this file: the adapter's checks, then a model over HTTP. */
import assert from "node:assert/strict";
import process from "node:process";
import { cellular, lstm, ServingEngine } from "../../../build/dist/mod.js";
import {
  createServer,
  listen,
  servedTokens,
} from "../../../build/dist/server.js";
import { CHECKS } from "./adapter_checks.mjs";

for (const [name, check] of Object.entries(CHECKS)) {
  try {
    await check(
      listen,
      !("Deno" in globalThis || "Bun" in globalThis),
      !("Deno" in globalThis),
    );
  } catch (error) {
    error.message = `${name}: ${error.message}`;
    throw error;
  }
}

const model = lstm({ hidden: 8, vocabulary: 10, head: "classifier" });
const engine = await ServingEngine.create({
  models: [model],
  policy: cellular(),
});
const server = createServer(engine, {
  models: [servedTokens(model, { name: "intents" })],
});
const listener = await listen(server, { port: 0 });
const tokens = [3, 1, 4];
const response = await fetch(`${listener.url}v2/models/intents/infer`, {
  method: "POST",
  body: JSON.stringify({
    inputs: [{ name: "tokens", shape: [3], datatype: "INT32", data: tokens }],
  }),
});
const { outputs } = await response.json();
const alone = await engine.run(model, { tokens });
assert.deepEqual(outputs[1].data, [...alone.outputs.logits.data]);
await listener.close();
await server.close();
await engine.close();
console.log("ok");
// Deno waits for who asked for a socket and left.
process.exit();
