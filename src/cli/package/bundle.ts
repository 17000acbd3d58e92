import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";

/** What becomes of which module: the library, and what its worker threads run. */
const ENTRIES = {
  shoal: "src/mod.ts",
  worker: "src/engine/wall/worker_main.ts",
};

/**
 * Bundles the library as JavaScript modules for Node, Bun and browsers: build/shoal.js and
 * build/worker.js, beside the kernels that they load.
 * @param root folder of the checkout
 */
export async function bundle(root: URL): Promise<void> {
  try {
    await build({
      absWorkingDir: fileURLToPath(root),
      entryPoints: ENTRIES,
      outdir: "build",
      bundle: true,
      format: "esm",
      platform: "neutral",
      target: "es2022",
      external: ["node:*"],
      sourcemap: true,
      logLevel: "warning",
    });
  } finally {
    await stop();
  }
}
