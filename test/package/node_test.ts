/** What is Node's own about the package: bundles for servers, and its permission model. */
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { build, stop } from "esbuild";
import { DOORS } from "../../src/cli/package/bundle.ts";
import { ROOT, Stranger, VITE } from "./stranger.ts";

const PROGRAM = `import { lstm, ServingEngine } from "./dist/mod.js";
const model = lstm({ hidden: 4, vocabulary: 5 });
const create = (workers) =>
  ServingEngine.create({ models: [model], warmUp: false, workers });
const engine = await create();
await engine.run(model, { tokens: [1, 2] });
console.log("threads", engine.threads);
await engine.close();
`;

/** How bundlers look for files that have to come along. */
const FILE = /new URL\("\.\/([\w.]+)", import\.meta\.url\)/g;

Deno.test("a server's bundle finds the worker and the kernels where a bundler has put them", async () => {
  using stranger = new Stranger({
    "main.js": PROGRAM,
    "package.json": `{ "type": "module" }\n`,
    // As Next.js has it around its output: the worker has to be a script as well.
    "assets/package.json": `{ "type": "commonjs" }\n`,
  });
  const dist = stranger.path("dist");
  cpSync(`${ROOT}build/dist`, dist, { recursive: true });
  const { outputFiles: [{ text }] } = await build({
    entryPoints: [stranger.path("main.js")],
    bundle: true,
    format: "esm",
    write: false,
  }).finally(() => stop());
  const moved = text.replaceAll(FILE, (_, name) => {
    cpSync(`${dist}/${name}`, stranger.path(`assets/a1b2-${name}`));
    return `new URL("./assets/a1b2-${name}", import.meta.url)`;
  });
  rmSync(dist, { recursive: true });
  stranger.write({ "main.js": moved });
  assert.equal(stranger.run("node", "main.js").stdout, "threads 1\n");
});

Deno.test("a CommonJS program requires every door, where Node can", () => {
  using stranger = new Stranger({
    "main.cjs": `if (!process.features.require_module) console.log("skipped");
else for (const door of ${JSON.stringify(Object.values(DOORS))}) {
  if (Object.keys(require("./dist/" + door + ".js")).length === 0) throw new Error(door);
}
`,
    "package.json": `{ "type": "module" }\n`,
  });
  cpSync(`${ROOT}build/dist`, stranger.path("dist"), { recursive: true });
  const { stdout } = stranger.run("node", "--no-warnings", "main.cjs");
  assert.match(stdout, /^(skipped\n)?$/);
});

/** Takes the files along where Vite does not; see README, "Bundlers". */
const META_ASSETS = "@web/rollup-plugin-import-meta-assets";

Deno.test("Vite's bundle for Node has the worker and the kernels with it", () => {
  using stranger = new Stranger({
    "main.js": PROGRAM.replace("./dist/mod.js", "@shoal/core"),
    "vite.config.js": `import { importMetaAssets } from "${META_ASSETS}";
export default {
  plugins: [importMetaAssets()],
  ssr: { noExternal: true },
  build: { ssr: "main.js", target: "es2022", ssrEmitAssets: true },
};
`,
  }).install(VITE, `${META_ASSETS}@2.3.3`);
  stranger.run("npx", "--no-install", "vite", "build");
  rmSync(stranger.path("node_modules"), { recursive: true });
  assert.equal(stranger.run("node", "dist/main.js").stdout, "threads 1\n");
});

/** All that such tools look through; the command line is not for them. */
const MODULES = /^(?!cli)[\w-]+\.js$/;

Deno.test("who copies a server's files sees all that are not imported", () => {
  const dist = `${ROOT}build/dist`;
  const seen: string[] = [];
  for (const name of readdirSync(dist)) {
    if (!MODULES.test(name)) continue;
    const text = readFileSync(`${dist}/${name}`, "utf8");
    // @vercel/nft takes `() => new URL(...)` for a value, which it follows no further.
    const returned = new RegExp(
      `\\breturn (?:new Worker\\()?${FILE.source}`,
      "g",
    );
    const files = [...text.matchAll(returned)].map(([, file]) => file);
    assert.deepEqual(files, [...text.matchAll(FILE)].map(([, file]) => file));
    seen.push(...files);
  }
  const needed = readdirSync(dist).filter((name) => /\.wasm$/.test(name));
  assert.deepEqual([...new Set(seen)].sort(), [...needed, "worker.js"].sort());
});

Deno.test("a worker that is missing is named in Node, too", () => {
  using stranger = new Stranger({
    "main.js": PROGRAM.replace(
      "await create()",
      "await create().catch(({ message }) => { console.log(message); process.exit(); })",
    ),
    "package.json": `{ "type": "module" }\n`,
  });
  cpSync(`${ROOT}build/dist`, stranger.path("dist"), { recursive: true });
  rmSync(stranger.path("dist/worker.js"));
  assert.match(
    stranger.run("node", "main.js").stdout,
    /^A worker thread failed to start from .*\/worker\.js: [^]*README, "Bundlers"/,
  );
});

Deno.test("Node without the permission to start threads computes in the calling thread", async (t) => {
  using stranger = new Stranger({
    "main.js": `${PROGRAM}
await create(2).then(
  (engine) => engine.close(),
  ({ message }) => console.log(message),
);
`,
    "package.json": `{ "type": "module" }\n`,
  });
  cpSync(`${ROOT}build/dist`, stranger.path("dist"), { recursive: true });
  const named = stranger.run(
    "node",
    ...["-p", `process.allowedNodeEnvironmentFlags.has("--permission")`],
  ).stdout.trim() === "true";
  const flag = named ? "--permission" : "--experimental-permission";
  const run = (...allowed: string[]) =>
    stranger.run(
      "node",
      ...[flag, "--no-warnings", "--allow-fs-read=*", ...allowed, "main.js"],
    ).stdout;
  await t.step("by default, and says so where several are asked for", () => {
    assert.match(
      run(),
      /^threads 0\nThere is one thread here, got workers: 2, .*permission model .*--allow-worker/,
    );
  });
  await t.step("and on threads where it is given", () => {
    assert.equal(run("--allow-worker"), "threads 1\n");
  });
});
