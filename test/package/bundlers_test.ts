/**
 * The installed package in pages, as bundlers make them: the bits of the sources, on threads where the page is
 * cross-origin isolated and in the page's own thread where it is not.
 */
import assert from "node:assert/strict";
import { cpSync, readdirSync } from "node:fs";
import { BROWSER_NAMES, freePort, type Page, visit } from "../browsers.ts";
import { expectedHash } from "../runtimes/expected_hash.ts";
import { PAGE } from "./doors.ts";
import { ROOT, Stranger, VITE } from "./stranger.ts";

/** Where the package's modules lie, for a page without a bundler. */
const IMPORT_MAP = `<script type="importmap">${
  JSON.stringify({
    imports: {
      "@shoal/core": "./node_modules/@shoal/core/build/dist/mod.js",
      "@shoal/core/": "./node_modules/@shoal/core/build/dist/",
    },
  })
}</script>`;

/** What the page's policy has to allow at least. */
const POLICY = `<meta http-equiv="Content-Security-Policy" content="` +
  `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self'">`;

const VITE_CONFIG =
  `export default { optimizeDeps: { exclude: ["@shoal/core"] } };\n`;

/** Builds the page in every way. @returns the folders to serve */
function build(stranger: Stranger): Record<string, string> {
  stranger.run("npx", "--no-install", "vite", "build");
  stranger.run(
    "node",
    `${ROOT}/node_modules/esbuild/bin/esbuild`,
    ...["main.js", "--bundle", "--format=esm", "--outdir=public/esbuild"],
  );
  const dist = stranger.path("node_modules/@shoal/core/build/dist");
  for (const name of readdirSync(dist)) {
    if (name !== "worker.js" && !name.endsWith(".wasm")) continue;
    cpSync(`${dist}/${name}`, stranger.path(`public/esbuild/${name}`));
  }
  stranger.write({
    "public/esbuild/index.html": PAGE["index.html"].replace(
      "<script",
      `${POLICY}\n<script`,
    ),
    "bare.html": PAGE["index.html"].replace("<script", `${IMPORT_MAP}\n<script`)
      .replace("main.js", "bare.js"),
    "bare.js": PAGE["main.js"].replaceAll(
      /"@shoal\/core\/(\w+)"/g,
      `"@shoal/core/$1.js"`,
    ),
  });
  return {
    vite: stranger.path("dist"),
    esbuild: stranger.path("public/esbuild"),
    bare: stranger.folder,
  };
}

Deno.test("pages with the package serve the bits of the sources", async (t) => {
  using stranger = new Stranger({ ...PAGE, "vite.config.js": VITE_CONFIG })
    .install(VITE);
  const hash = await expectedHash();
  const folders = build(stranger);
  const port = await freePort();
  const pages: (Page & { name: string })[] = [
    ...Object.entries(folders).flatMap(([name, root]) =>
      [true, false].map((isolated) => ({
        name,
        root,
        isolated,
        path: name === "bare" ? "/bare.html" : "/",
      }))
    ),
    {
      name: "vite's development server",
      root: `http://127.0.0.1:${port}`,
      isolated: true,
    },
  ];
  await stranger.during(
    [
      ...["node", "node_modules/vite/bin/vite.js"] as const,
      ...["--host", "127.0.0.1", "--port", `${port}`, "--strictPort"],
    ],
    /ready in/,
    async () => {
      for (const browser of BROWSER_NAMES) {
        await t.step(`in ${browser}`, async () => {
          const reports = await visit(browser, pages);
          if (reports === undefined) {
            return console.log(`skipped: pages in ${browser}: not on the PATH`);
          }
          assert.deepEqual(
            reports.map((report, i) => `${pages[i].name}: ${report}`),
            pages.map(({ name, isolated }) =>
              `${name}: ${isolated} ${hash} ${hash}`
            ),
          );
        });
      }
    },
  );
});
