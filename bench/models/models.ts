/**
 * Whole networks beside onnxruntime-web, which runs the same graph with the same weights, in one process, in turns.
 *
 * Run: deno task bench:models [--only=<text>] [--batches=1,8] [--threads=2] [--quick] [--rounds=7]
 *        [--attention=operators] [--json]
 *
 * Our side is a `ServingEngine` with one worker and a batch's requests put at once, whole request latency; of
 * networks that decode the steps, from the start of the first to the end of the requests. The peer's side is one
 * session over the network, or over a step, whose states and caches go from run to run.
 */
import { cpus } from "node:os";
import process from "node:process";
import { oneName, taskSettings } from "../../src/cli/options.ts";
import { supports } from "../../src/kernels/module/features.ts";
import { renderTable } from "../../src/report/table.ts";
import { loadOrtWeb, ORT_VERSION } from "../kernels/peers/ort.ts";
import { measurePeaks } from "../kernels/probes.ts";
import type { AttentionForm } from "./export/operators.ts";
import { measureNetwork, type NetworkResult } from "./measure.ts";
import { modelsOptions } from "./options.ts";
import { ortRuntime } from "./ort_runtime.ts";
import { repeatedWeights } from "./repeated_weights.ts";
import { networksTable } from "./table.ts";

const SEED = 1;
const ATTENTIONS = [
  "MultiHeadAttention",
  "operators",
] as const satisfies readonly AttentionForm[];

const HELP = `bench:models [options]

Whole networks beside onnxruntime-web on the same graph with the same weights.

  --only TEXT       networks that have the text in their name, in any case
  --batches SIZES   requests at once, comma-separated (default 1,8; U-Net 1)
  --threads N       on one thread and on N (default 1), onnxruntime-web on N
  --attention FORM  onnxruntime-web's: MultiHeadAttention (default) or operators
  --rounds N        rounds, in each of which everybody runs once (default 7)
  --quick           3 rounds
  --json            the figures as JSON
`;

const { args, attention, networks, rounds, threads } = taskSettings({
  name: "bench:models",
  help: HELP,
  options: {
    only: { type: "string" },
    batches: { type: "string" },
    threads: { type: "string" },
    attention: { type: "string", default: ATTENTIONS[0] },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
}, ({ values }) => ({
  args: values,
  attention: oneName("--attention", values.attention, ATTENTIONS),
  ...modelsOptions(values),
}));

const peaks = await measurePeaks(supports("relaxed-simd"));
const runtime = ortRuntime(await loadOrtWeb(threads));
const results: NetworkResult[] = [];
for (const network of networks) {
  process.stderr.write(`${network.name}\n`);
  const model = network.build(repeatedWeights(SEED));
  results.push(
    ...await measureNetwork(network, model, {
      ...{ threads, rounds, attention, runtime, seed: SEED },
      onBatch: (label) => process.stderr.write(`${label}\n`),
    }),
  );
}

const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  runtime: `Deno ${process.versions["deno"]}, V8 ${process.versions.v8}`,
  peer: `onnxruntime-web ${ORT_VERSION}`,
  threads,
  ...peaks,
};
if (args.json) {
  const setting = { seed: SEED, rounds, attention, machine };
  console.log(JSON.stringify({ ...setting, results }, null, 2));
} else {
  console.log(
    `${machine.cpu}, ${machine.cores} cores; ${machine.runtime}; ${machine.peer} on ${
      threads === 1 ? "one thread" : `${threads} threads`
    }, attention by ${attention}; seed ${SEED}`,
  );
  console.log(
    `probes: ${
      Object.entries(peaks).map(([name, rate]) => `${name} ${rate.toFixed(1)}`)
        .join(", ")
    }`,
  );
  console.log(
    `best milliseconds of a batch in ${rounds} rounds; of networks that decode, of a step; over it: median of the rounds' ratios\n`,
  );
  console.log(renderTable(networksTable(results, threads), { color: false }));
}
process.exit(0);
