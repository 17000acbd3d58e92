/**
 * Our server of the comparison: one model of texts, with the policy that is asked for, and figures of what it computed
 * at `/counts`. Nothing is refused.
 *
 *     own_server.ts MODEL_FOLDER PORT WORKERS THREADS_PER_WORKER POLICY POLICY_OPTIONS
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { NS_PER_S } from "../../src/base/units.ts";
import { Collector } from "../../src/metrics/collector.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { EngineHost } from "../../src/server/host/engine_host.ts";
import { servedOnnx } from "../../src/server/models/served_onnx.ts";
import { servedText } from "../../src/server/models/served_text.ts";
import { listen } from "../../src/server/runtime/listen.ts";
import { createServer } from "../../src/server/server.ts";
import { TextModel } from "../../src/text/text_model.ts";
import { TextTokenizer } from "../../src/text/tokenizer.ts";
import type { Counts } from "./measure.ts";

const [folder, port, workers, threads, policy, policyOptions] = process.argv
  .slice(2);
const read = (name: string) =>
  JSON.parse(readFileSync(`${folder}/${name}`, "utf8"));

const model = await loadOnnx(`${folder}/model.onnx`, {
  sizesMax: { sequence: read("config.json").max_position_embeddings },
});
const tokenizer = await TextTokenizer.load({
  tokenizer: read("tokenizer.json"),
  config: read("tokenizer_config.json"),
});
const served = servedText(
  servedOnnx(model, { name: "bert" }),
  new TextModel(model, tokenizer),
);
let collector = new Collector();
const host = await EngineHost.create({
  models: [served],
  policy: () => POLICIES[policy].build(JSON.parse(policyOptions)),
  engine: {
    workers: Number(workers),
    threadsPerWorker: Number(threads),
    slotBytes: 2 ** 29,
  },
  observers: [{
    engine: () => ({
      task: (task, record) => collector.task(task, record),
      request: (request, record) => collector.request(request, record),
    }),
  }],
});
const server = createServer(host);
let cpuBefore = process.cpuUsage();

/** What was computed, and the time that it took, since the last time. */
function counts(): Counts {
  let tokens = 0;
  let padding = 0;
  for (const tally of collector.cells.values()) {
    tokens += tally.tokens;
    padding += tally.paddingTokens;
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const computingS = collector.busyNs.reduce((a, b) => a + b, 0) / NS_PER_S;
  cpuBefore = process.cpuUsage();
  collector = new Collector();
  return { tokens, padding, cpuS: (user + system) / 1e6, computingS };
}

await listen({
  fetch: (request) =>
    new URL(request.url).pathname === "/counts"
      ? Promise.resolve(Response.json(counts()))
      : server.fetch(request),
}, { port: Number(port) });
console.log("listening");
