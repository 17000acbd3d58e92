/** The package's `/v1/realtime` over TLS in whatever runtime executes this file, until stdin ends. */
import { readFileSync } from "node:fs";
import process from "node:process";
import {
  cellular,
  defineCell,
  defineStream,
  f32,
  ServingEngine,
  tensor,
} from "../../../build/dist/mod.js";
import {
  createServer,
  listen,
  servedStream,
} from "../../../build/dist/server.js";

const FRAME = 512;
const [, , cert, key] = process.argv;

/** The mean of a frame is the probability of speech. */
const cell = defineCell({
  name: "loudness",
  inputs: { samples: f32(FRAME), before: f32(1) },
  body: (op, { samples }) => {
    const mean = tensor([1, FRAME], new Float32Array(FRAME).fill(1 / FRAME));
    return { speech: op.Gemm(samples, mean) };
  },
});
const detector = defineStream({
  name: "loudness",
  cells: [cell],
  inputs: { samples: f32(FRAME) },
  states: { before: { ...f32(1), from: "speech" } },
  outputs: { speech: "f32" },
  frame(graph, { samples, before }) {
    const node = graph.node(cell, {
      samples: graph.row(samples, 0, FRAME),
      before: graph.row(before, 0, 1),
    });
    graph.result("speech", graph.output(node, "speech"));
  },
});
const engine = await ServingEngine.create({
  models: [detector],
  policy: cellular(),
});
const server = createServer(engine, {
  models: [servedStream(detector, { name: "voices" })],
});
const tls = {
  cert: readFileSync(cert, "utf8"),
  key: readFileSync(key, "utf8"),
};
const listener = await listen(server, { port: 0, tls });
console.log(listener.url);
process.stdin.resume();
process.stdin.once("end", async () => {
  await listener.close(5000);
  await server.close();
  await engine.close();
  console.log("closed");
});
