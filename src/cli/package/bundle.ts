/**
 * The npm package's code, to which `deno task package` adds declarations: build/dist has one
 * JavaScript module per entry, chunks that they share, the worker and the kernels side by side.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions, type Plugin, stop } from "esbuild";

/** The library's entries, as `exports` of deno.json names them, and the modules under src/ that they are. */
export const DOORS = {
  ".": "mod",
  "./kernels": "kernels",
  "./simulate": "simulate",
  "./npu": "npu",
  "./onnx": "onnx",
  "./server": "server",
  "./text": "text",
  "./grpc": "grpc",
} as const;

/** Has the paths of files that are not imported, as they are in the sources. */
const RUNTIME = "src/engine/wall/runtime.ts";

/** Makes them what they are in the package: all files lie side by side. */
const FLAT_FILES: Plugin = {
  name: "flat files",
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]wall[/\\]runtime\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const contents = source
        .replaceAll(`new URL("../../../build/`, `new URL("./`)
        .replaceAll(`new URL("./worker_main.ts"`, `new URL("./worker.js"`);
      if (contents === source) throw new Error(`${RUNTIME} names no files`);
      return { contents, loader: "ts" };
    });
  },
};

/** Of the loader of AssemblyScript's modules: what every runtime has is put in place where built-in objects are frozen, too. */
const POLYFILL = /^Object\.hasOwn = [^]*?\n\};\n/m;

/** Leaves it out, for `node --frozen-intrinsics`. */
const NO_POLYFILL: Plugin = {
  name: "no polyfill",
  setup({ onLoad }) {
    onLoad(
      { filter: /assemblyscript[/\\]loader[/\\]index\.js$/ },
      async ({ path }) => {
        const source = await readFile(path, "utf8");
        const contents = source.replace(POLYFILL, "");
        if (contents === source) throw new Error(`${path} has no polyfill`);
        return { contents, loader: "js" };
      },
    );
  },
};

const COMMON = {
  bundle: true,
  format: "esm",
  platform: "neutral",
  target: "es2022",
  external: ["node:*"],
  outdir: "build/dist",
  write: false,
  metafile: true,
  logLevel: "warning",
  plugins: [FLAT_FILES, NO_POLYFILL],
} as const satisfies BuildOptions;

/**
 * The library is left readable, since bundlers make it small; nobody bundles the command line. The worker is
 * one file, so that it can be copied; nobody makes it smaller then.
 */
const BUILDS: readonly BuildOptions[] = [
  {
    entryPoints: Object.values(DOORS).map((module) => `src/${module}.ts`),
    splitting: true,
    chunkNames: "[name]-[hash]",
  },
  {
    entryPoints: { worker: "src/engine/wall/worker_main.ts" },
    minify: true,
    legalComments: "none",
  },
  {
    entryPoints: { cli: "src/cli.ts" },
    splitting: true,
    chunkNames: "cli-[name]-[hash]",
    minify: true,
    legalComments: "none",
    banner: { js: "#!/usr/bin/env node" },
  },
];

/**
 * Bundles the library, its worker and the command line as JavaScript modules, with the kernels beside them.
 * @param root folder of the checkout; the kernels are built
 * @returns files that became part of the bundles, by their paths from the root
 */
export async function bundle(root: URL): Promise<ReadonlySet<string>> {
  const inputs = new Set<string>();
  const files = new Map<string, Uint8Array>();
  try {
    for (const options of BUILDS) {
      const { outputFiles, metafile } = await build({
        ...COMMON,
        ...options,
        write: false,
        metafile: true,
        absWorkingDir: fileURLToPath(root),
      });
      for (const { path, contents } of outputFiles) {
        files.set(basename(path), contents);
      }
      for (const input of Object.keys(metafile.inputs)) inputs.add(input);
    }
  } finally {
    await stop();
  }
  for (const name of readdirSync(new URL("build/", root))) {
    // Builds over shared memory are made of the others when they are read (engine/wall/runtime.ts).
    if (!name.endsWith(".wasm") || name.endsWith("shared.wasm")) continue;
    files.set(name, readFileSync(new URL(`build/${name}`, root)));
  }
  replaceFiles(new URL("build/dist/", root), files);
  return inputs;
}

/** Makes a folder hold these files and no others; what is right is left alone, as somebody may be using it. */
function replaceFiles(
  folder: URL,
  files: ReadonlyMap<string, Uint8Array>,
): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (!files.has(name)) rmSync(new URL(name, folder));
  }
  for (const [name, contents] of files) {
    const file = new URL(name, folder);
    if (existsSync(file) && readFileSync(file).equals(contents)) continue;
    writeFileSync(file, contents);
  }
}
