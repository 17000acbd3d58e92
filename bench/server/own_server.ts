/**
 * Our server of the comparison: one model of texts, with the policy that is asked for, and figures of what it computed
 * at `/counts`.
 *
 *     own_server.ts MODEL_FOLDER PORT POLICY BATCH_MAX WORKERS SLO_MS
 */
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { NS_PER_MS } from "../../src/base/units.ts";
import { Collector } from "../../src/metrics/collector.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { CostAdmission } from "../../src/server/admission/cost_admission.ts";
import { EngineHost } from "../../src/server/host/engine_host.ts";
import { servedOnnx } from "../../src/server/models/served_onnx.ts";
import { servedText } from "../../src/server/models/served_text.ts";
import { listen } from "../../src/server/runtime/listen.ts";
import { createServer } from "../../src/server/server.ts";
import { TextModel } from "../../src/text/text_model.ts";
import { TextTokenizer } from "../../src/text/tokenizer.ts";

const [folder, port, policy, batchMax, workers, sloMs] = process.argv.slice(2);
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
  policy: () =>
    POLICIES[policy].build({
      batchSizeMax: Number(batchMax),
      ...(policy === "graph" && { windowNs: 0 }),
    }),
  engine: { workers: Number(workers), slotBytes: 2 ** 29 },
  observers: [{
    engine: () => ({
      task: (task, record) => collector.task(task, record),
      request: (request, record) => collector.request(request, record),
    }),
  }],
  ...(Number(sloMs) > 0 && {
    admission: new CostAdmission({
      sloMs: Number(sloMs),
      workers: Number(workers),
    }),
  }),
});
const server = createServer(host);
const delays = monitorEventLoopDelay({ resolution: 5 });
delays.enable();

/** What was computed, and how the process is, since the last time. */
function counts() {
  let tokens = 0;
  let padding = 0;
  let rows = 0;
  let tasks = 0;
  for (const tally of collector.cells.values()) {
    tokens += tally.tokens;
    padding += tally.paddingTokens;
    rows += tally.rows;
    tasks += tally.tasks;
  }
  const { rss, heapUsed } = process.memoryUsage();
  const told = {
    ...{ tokens, padding, rows, tasks, rss, heapUsed },
    loopDelayP99Ms: delays.percentile(99) / NS_PER_MS,
  };
  collector = new Collector();
  delays.reset();
  return told;
}

await listen({
  fetch: (request) =>
    new URL(request.url).pathname === "/counts"
      ? Promise.resolve(Response.json(counts()))
      : server.fetch(request),
}, { port: Number(port) });
console.log("listening");
