/**
 * The package, installed with npm into an empty folder: the same bits as the sources in every runtime, its
 * declarations, its commands, and what Deno has to allow.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import process from "node:process";
import { DOORS } from "../../src/cli/package/bundle.ts";
import { expectedHash } from "../runtimes/expected_hash.ts";
import { RUNTIMES } from "../runtimes/runtimes.ts";
import { PROGRAM } from "./doors.ts";
import { ROOT, Stranger } from "./stranger.ts";

/** Uses every door; `@ts-expect-error` fails where there is no error. */
const TYPED = `${
  Object.keys(DOORS).map((door, i) =>
    `import * as door${i} from "@shoal/core${door.slice(1)}";\n`
  ).join("")
}import {
  cellular,
  defineCell,
  f32,
  lstm,
  type Model,
  type Policy,
  ServingEngine,
  tensor,
} from "@shoal/core";
import { chooseBuild, instantiateKernels, readKernels } from "@shoal/core/kernels";
import { createNpu, preset } from "@shoal/core/npu";
import { EngineCore, NpuCost, seededWeights, SimExecutor, Timeline } from "@shoal/core/simulate";

const model = lstm({ hidden: 8, vocabulary: 10, weights: seededWeights(1) });
const policy: Policy = cellular({ batchSizeMax: 4 });
const engine = await ServingEngine.create({ models: [model], policy });
const { outputs, timing } = await engine.run(model, { tokens: [1, 2] });
const row: Float32Array = outputs.h.data;
const queuedMs: number = timing.queuedMs;
// @ts-expect-error a model without a head has no logits
outputs.logits;
// @ts-expect-error tokens are numbers
engine.run(model, { tokens: "1" });
// @ts-expect-error there is no such option
lstm({ hidden: 8, vocabulary: 10, layer: 2 });
const cell = defineCell({
  name: "double",
  inputs: { x: f32(2) },
  body: (op, { x }) => ({ y: op.Add(x, x) }),
});
// @ts-expect-error the cell is no model
const wrong: Model = cell;
const timeline = new Timeline();
const core = new EngineCore({
  models: [model],
  policy: cellular(),
  executor: new SimExecutor({
    timeline,
    cost: new NpuCost(createNpu(preset("lazybatching"))),
    onCompleted: (task, startNs, endNs) => core.completed(task, startNs, endNs),
  }),
});
const memory = new WebAssembly.Memory({ initial: 4 });
const kernels = instantiateKernels(await readKernels("shoal"), { memory });
const end: number = kernels.shoal_static_end();
console.log(${Object.keys(DOORS).map((_, i) => `door${i}`).join(", ")});
console.log(row, queuedMs, wrong, end, chooseBuild().file, tensor([1], new Float32Array(1)));
await engine[Symbol.asyncDispose]();
`;

/** Hands on what may be undefined, as the runtime takes it, where TypeScript tells it from what is left out. */
const EXACT =
  `import { lstm, type RequestOptions, ServingEngine } from "@shoal/core";
import { foldBatchNorm } from "@shoal/core/kernels";
import { loadOnnx, type OnnxCellModel } from "@shoal/core/onnx";
import type { ListenOptions } from "@shoal/core/server";

declare const perhaps: {
  readonly signal: AbortSignal | undefined;
  readonly number: number | undefined;
};
const model = lstm({ hidden: 8, vocabulary: 10, classes: perhaps.number });
const engine = await ServingEngine.create({
  models: [model],
  team: { leastNs: perhaps.number },
  onError: undefined,
});
const options: RequestOptions = { signal: perhaps.signal };
await engine.run(model, { tokens: [1] }, options);
export const tls: ListenOptions = { tls: undefined };
export const file: OnnxCellModel = await loadOnnx("file", { states: undefined });
// What is always there is never undefined.
export const bias = (...folded: Parameters<typeof foldBatchNorm>): Float32Array =>
  foldBatchNorm(...folded).bias;
// @ts-expect-error signals are no numbers
engine.run(model, { tokens: [1] }, { signal: perhaps.number });
`;

Deno.test("the installed package serves the bits of the sources", async (t) => {
  using stranger = new Stranger({
    ...PROGRAM,
    "typed.ts": TYPED,
    "exact.ts": EXACT,
  })
    .install();
  const hash = await expectedHash();
  for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
    await t.step(`in ${name}`, () => {
      const output = stranger.tryRun(command, ...args, "main.mjs");
      if (output === undefined) {
        return console.log(`skipped: ${name}: no ${command} on the PATH`);
      }
      assert.equal(output.stdout.trim(), `${hash}\n${hash}`, output.stderr);
    });
  }
  await t.step("in Node whose built-in objects are frozen", () => {
    const frozen = ["--frozen-intrinsics", "--no-warnings"];
    const { stdout } = stranger.run(
      ...RUNTIMES["node"],
      ...frozen,
      "main.mjs",
    );
    assert.equal(stdout.trim(), `${hash}\n${hash}`);
  });
  await t.step("in Node, from a text", () => {
    const { stdout } = stranger.run(
      ...RUNTIMES["node"],
      ...["--input-type=module", "-e", PROGRAM["main.mjs"]] as const,
    );
    assert.equal(stdout.trim(), `${hash}\n${hash}`);
  });
  await t.step("in Deno, imported by its path", () => {
    stranger.write({
      "elsewhere/smoke_load.mjs": PROGRAM["smoke_load.mjs"],
      "elsewhere/main.mjs": PROGRAM["main.mjs"]
        .replace(
          `"@shoal/core"`,
          `"../node_modules/@shoal/core/build/dist/mod.js"`,
        )
        .replaceAll(
          /"@shoal\/core\/(\w+)"/g,
          `"../node_modules/@shoal/core/build/dist/$1.js"`,
        ),
    });
    const { stdout } = stranger.run(...RUNTIMES["deno"], "elsewhere/main.mjs");
    assert.equal(stdout.trim(), `${hash}\n${hash}`);
  });
  await t.step("in Deno, which has to allow reading and nothing else", () => {
    const { stdout } = stranger.run(
      process.execPath,
      ...["run", "--allow-read", "--no-prompt", "main.mjs"],
    );
    assert.equal(stdout.trim(), `${hash}\n${hash}`);
  });
  for (const resolution of ["bundler", "nodenext"]) {
    await t.step(`to TypeScript with moduleResolution ${resolution}`, () => {
      const { stdout } = stranger.run(
        "node",
        `${ROOT}/node_modules/typescript/bin/tsc`,
        ...["--strict", "--noEmit", "--skipLibCheck", "false"],
        ...["--target", "es2022", "--types", ""],
        ...["--module", resolution === "bundler" ? "esnext" : resolution],
        ...["--moduleResolution", resolution, "exact.ts", "typed.ts"],
        // The one with it, the other one as most have it.
        ...resolution === "bundler" ? [] : ["--exactOptionalPropertyTypes"],
      );
      assert.equal(stdout, "");
    });
  }
  await t.step("and has its commands", () => {
    stranger.run(
      "npx",
      ...["--no-install", "@shoal/core", "bench", "--quick"],
      ...["--model", "lstm", "--policy", "cellular", "--requests", "20"],
      ...["--hidden", "16", "--out", "results"],
    );
    assert(existsSync(stranger.path("results/report.html")));
    for (
      const command of ["ebird", "explain", "npu", "profile", "simulate"]
    ) {
      const { stdout } = stranger.run(
        ...["npx", "--no-install", "@shoal/core", command, "--help"] as const,
      );
      assert.match(stdout, new RegExp(`^shoal ${command}`));
    }
    stranger.run(
      ...["npx", "--no-install", "@shoal/core", "npu"] as const,
      ...["--wavefront", "wave.html"],
    );
    assert(existsSync(stranger.path("wave.html")));
  });
});

Deno.test("the sources serve where Deno allows reading and nothing else", async () => {
  using stranger = new Stranger({
    "smoke_load.mjs": PROGRAM["smoke_load.mjs"],
    "main.mjs": PROGRAM["main.mjs"]
      .replace(`"@shoal/core"`, JSON.stringify(`file://${ROOT}src/mod.ts`))
      .replaceAll(/"@shoal\/core\/(\w+)"/g, `"file://${ROOT}src/$1.ts"`),
  });
  const { stdout } = stranger.run(
    process.execPath,
    ...["run", "--allow-read", "--no-prompt"],
    ...["--config", `${ROOT}deno.json`, "main.mjs"],
  );
  const hash = await expectedHash();
  assert.equal(stdout.trim(), `${hash}\n${hash}`);
});
