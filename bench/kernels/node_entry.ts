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
import { describe } from "../../src/base/describe.ts";
import { readOptions } from "../../src/cli/options.ts";
import { EXIT, guard, UsageError } from "../../src/cli/terminal.ts";
import { ROOT } from "./root.ts";

const HELP = `bench:kernels:node [options of bench:kernels]

bench:kernels in Node, where onnxruntime-node is a peer too; bench:kernels --help lists the options.
SHOAL_NODE names another Node, for example SHOAL_NODE="npx -y node@26".
`;

guard("bench:kernels:node");
const forwarded = process.argv.slice(2);
const asked = forwarded.find((arg) =>
  ["-h", "--help", "--version"].includes(arg)
);
if (asked !== undefined) {
  readOptions({ name: "bench:kernels:node", help: HELP, options: {} }, [asked]);
  process.exit(EXIT.success);
}

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
  command,
  [...args, OUT, ...forwarded],
  { cwd: FOLDER, stdio: "inherit" },
);
if (error) {
  throw new UsageError(
    `${
      describe(command)
    } cannot be started (${error.message}); SHOAL_NODE names a Node to run`,
  );
}
process.exit(status ?? 1);
