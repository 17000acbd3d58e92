/**
 * Bundles the kernel bench and runs it in Node, where onnxruntime-node is a peer too.
 *
 * Run: deno task bench:kernels:node [options of bench:kernels]; SHOAL_NODE names another Node,
 *      for example SHOAL_NODE="npx -y node@26"
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { ROOT } from "./root.ts";

const FOLDER = fileURLToPath(ROOT);
const OUT = "build/bench/kernels.js";

try {
  await build({
    absWorkingDir: FOLDER,
    entryPoints: ["bench/kernels/kernels.ts"],
    outfile: OUT,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "warning",
  });
} finally {
  await stop();
}
const [command, ...args] = (process.env["SHOAL_NODE"] ?? "node").split(" ");
const { status, error } = spawnSync(
  command!,
  [...args, OUT, ...process.argv.slice(2)],
  { cwd: FOLDER, stdio: "inherit" },
);
if (error) throw error;
process.exit(status ?? 1);
