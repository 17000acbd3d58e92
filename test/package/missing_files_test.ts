/** What a bundler leaves behind, or a page's policy does not allow, is missed with a word about it. */
import assert from "node:assert/strict";
import {
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { pathToFileURL } from "node:url";
import { build, stop } from "esbuild";
import { chooseBuild } from "../../src/kernels/module/features.ts";
import { BROWSER_NAMES, visit } from "../browsers.ts";
import { ROOT, Stranger } from "./stranger.ts";

/** The kernels that this engine takes. */
const KERNELS = chooseBuild().file;

/** Writes a file into the code, as some bundlers do; this one is none of the package's. */
function inline(dist: string, file: string): void {
  const url = `data:text/javascript,throw 1;${"/".repeat(100_000)}`;
  for (const name of readdirSync(dist)) {
    if (!name.endsWith(".js")) continue;
    const text = readFileSync(`${dist}/${name}`, "utf8");
    writeFileSync(
      `${dist}/${name}`,
      text.replaceAll(`new URL("./${file}"`, `new URL("${url}"`),
    );
  }
}

const CASES: Record<
  string,
  { damage: (dist: string) => void; workers: number; message: RegExp }
> = {
  "the kernels are missing": {
    damage: (dist) => rmSync(`${dist}/${KERNELS}`),
    workers: 0,
    message: /^Cannot read .*\/shoal[.a-z]*\.wasm: .*README, "Bundlers"/,
  },
  "a server has sent its page for the kernels": {
    damage: (dist) => writeFileSync(`${dist}/${KERNELS}`, "<!doctype html>"),
    workers: 0,
    message:
      /^Cannot use .*\/shoal[.a-z]*\.wasm: it is no WebAssembly module; .*README, "Bundlers"/,
  },
  "the worker is missing": {
    damage: (dist) => rmSync(`${dist}/worker.js`),
    workers: 1,
    message:
      /^A worker thread failed to start from .*\/worker\.js: [^]*README, "Bundlers"/,
  },
  "the kernels that a bundler has put into the code are others": {
    damage: (dist) => inline(dist, KERNELS),
    workers: 0,
    message:
      /^Cannot use data:text\/javascript,[^…]{9,99}…: it is no WebAssembly module; /,
  },
  "the worker that a bundler has put into the code fails": {
    damage: (dist) => inline(dist, "worker.js"),
    workers: 1,
    message:
      /^A worker thread failed to start from data:text\/javascript,[^…]{9,99}…: /,
  },
};

for (const [what, { damage, workers, message }] of Object.entries(CASES)) {
  Deno.test(`an engine says so when ${what}`, async () => {
    using stranger = new Stranger();
    const dist = stranger.path("dist");
    cpSync(`${ROOT}build/dist`, dist, { recursive: true });
    damage(dist);
    const { cellular, lstm, ServingEngine }: typeof import("../../src/mod.ts") =
      await import(pathToFileURL(`${dist}/mod.js`).href);
    const made = ServingEngine.create({
      models: [lstm({ hidden: 4, vocabulary: 5 })],
      policy: cellular(),
      warmUp: false,
      workers,
    });
    await assert.rejects(made, { message });
  });
}

const ENGINE = `import { lstm, ServingEngine } from "./dist/mod.js";
ServingEngine.create({ models: [lstm({ hidden: 4, vocabulary: 5 })], workers: 0 })
  .then(() => console.log("there is an engine"), ({ message }) => console.log(message));
`;

for (const format of ["cjs", "iife"] as const) {
  Deno.test(`an engine in a bundle of format ${format} says that it has to be an ES module`, async () => {
    using stranger = new Stranger({ "main.js": ENGINE });
    cpSync(`${ROOT}build/dist`, stranger.path("dist"), { recursive: true });
    await build({
      entryPoints: [stranger.path("main.js")],
      outfile: stranger.path("bundle.cjs"),
      bundle: true,
      format,
      logLevel: "error",
      logOverride: { "empty-import-meta": "silent" },
    }).finally(() => stop());
    const { stdout } = stranger.run("node", "bundle.cjs");
    assert.match(
      stdout,
      /^Cannot tell where shoal[.a-z]*\.wasm is: .* ES modules .*README, "Bundlers"/,
    );
  });
}

Deno.test("an engine in code without a place says that it needs one", async () => {
  using stranger = new Stranger({
    "main.js": ENGINE,
    "run.mjs": `import { readFileSync } from "node:fs";
await import("data:text/javascript," + encodeURIComponent(readFileSync("bundle.js", "utf8")));
`,
  });
  cpSync(`${ROOT}build/dist`, stranger.path("dist"), { recursive: true });
  await build({
    entryPoints: [stranger.path("main.js")],
    outfile: stranger.path("bundle.js"),
    bundle: true,
    format: "esm",
    logLevel: "error",
  }).finally(() => stop());
  const { stdout } = stranger.run("node", "run.mjs");
  assert.match(
    stdout,
    /^Cannot tell where shoal[.a-z]*\.wasm is: import\.meta\.url is data:[^…]{9,99}… here; .* file of its own; /,
  );
});

Deno.test("an engine where no WebAssembly is compiled says so", async () => {
  using stranger = new Stranger({
    "main.js": ENGINE,
    "run.cjs": `const { createContext, runInContext } = require("node:vm");
const { readFileSync } = require("node:fs");
const host = { console, URL, TextEncoder, TextDecoder };
const rules = { codeGeneration: { strings: true, wasm: false } };
runInContext(readFileSync("bundle.js", "utf8"), createContext(host, rules));
`,
  });
  cpSync(`${ROOT}build/dist`, stranger.path("dist"), { recursive: true });
  await build({
    entryPoints: [stranger.path("main.js")],
    outfile: stranger.path("bundle.js"),
    bundle: true,
    format: "iife",
    logLevel: "error",
    logOverride: { "empty-import-meta": "silent" },
  }).finally(() => stop());
  const { stdout } = stranger.run("node", "run.cjs");
  assert.match(
    stdout,
    /^This host compiles no WebAssembly .*disallowed by embedder.*'wasm-unsafe-eval'.*instantiateKernels/,
  );
});

const MAIN = `import { lstm, ServingEngine } from "./dist/mod.js";
const body = await ServingEngine.create({ models: [lstm({ hidden: 4, vocabulary: 5 })] })
  .then(() => "there is an engine", ({ message }) => message);
await fetch("/report", { method: "POST", body });
`;

/** Pages that are isolated, and have no threads all the same. */
const PAGES: Record<
  string,
  { head: string; isolated: true | "document"; message: RegExp }
> = {
  "by policy": {
    head:
      `<meta http-equiv="Content-Security-Policy" content="script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'">`,
    isolated: true,
    message:
      /^A worker thread failed to start from http:.*\(worker-src\).*\(workers: 0\)$/,
  },
  "as its files have no headers": {
    head: "",
    isolated: "document",
    message:
      /^A worker thread failed to start from http:.* sent with Cross-Origin-Embedder-Policy.*\(workers: 0\)$/,
  },
};

for (const browser of BROWSER_NAMES) {
  for (const [why, { head, isolated, message }] of Object.entries(PAGES)) {
    Deno.test(`an engine in a page without threads ${why} says so, in ${browser}`, async () => {
      using stranger = new Stranger({
        "index.html":
          `<!doctype html>${head}<script type="module" src="main.js"></script>`,
        "main.js": MAIN,
      });
      cpSync(`${ROOT}build/dist`, stranger.path("dist"), { recursive: true });
      const page = { root: stranger.folder, isolated };
      const texts = await visit(browser, [page]);
      if (texts === undefined) {
        return console.log(`skipped: a page ${why} in ${browser}: not here`);
      }
      assert.match(texts[0], message);
    });
  }
}
