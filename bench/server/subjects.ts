/** The servers that are compared, each a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { msToNs } from "../../src/base/units.ts";
import { folderOf, install } from "../kernels/peers/install.ts";
import { ORT_VERSION } from "../kernels/peers/ort.ts";
import { ROOT } from "../kernels/root.ts";
import { MODEL } from "./model_files.ts";

/** How all of them are set up. */
export interface SubjectOptions {
  /** Folder of models. */
  readonly models: string;
  /** Threads that compute: our workers or, in a team, one worker's threads; the peers' intra-op threads. */
  readonly threads: number;
  /** Rows of a batch, where a server has batches and is told how large. */
  readonly batchMax: number;
  /** Time that a batcher of a peer waits for a batch to fill. */
  readonly windowMs: number;
  /** Latency that is asked for, of which only `auto` is told. */
  readonly sloMs: number;
}

/** A server that is compared. */
export interface Subject {
  readonly name: string;
  /** The program, and what it is given. */
  command(options: SubjectOptions, port: number): readonly string[];
  /** Gets ready what it needs. */
  prepare?(): Promise<void>;
}

const TOKENIZERS_VERSION = "0.2.0";
const TRANSFORMERS_VERSION = "4.3.1";

function own(
  policy: string,
  optionsOf: (options: SubjectOptions) => Record<string, unknown>,
  { note = "", isTeam = false } = {},
): Subject {
  return {
    name: `shoal, ${policy}${note}`,
    command: (options, port) => [
      ...[process.execPath, "run", "-A", "bench/server/own_server.ts"],
      ...[`${options.models}${MODEL}`, `${port}`],
      ...(isTeam ? [1, options.threads] : [options.threads, 1]).map(String),
      ...[policy, JSON.stringify(optionsOf(options))],
    ],
  };
}

const cellular = ({ batchMax }: SubjectOptions) => ({ batchSizeMax: batchMax });
const auto = ({ batchMax, sloMs }: SubjectOptions) => ({
  ...{ batchSizeMax: batchMax, slaNs: msToNs(sloMs) },
});

function peer(
  name: string,
  file: string,
  packages: Readonly<Record<string, string>>,
  settingsOf: (options: SubjectOptions) => readonly number[],
): Subject {
  const outfile = `build/bench/server/${file}.js`;
  return {
    name,
    command: (options, port) => [
      ...["node", outfile, `${options.models}${MODEL}`, `${port}`],
      `${options.threads}`,
      fileURLToPath(
        new URL("../../package.json", folderOf("onnxruntime-node")),
      ),
      ...settingsOf(options).map(String),
    ],
    async prepare() {
      install(packages);
      try {
        await build({
          absWorkingDir: fileURLToPath(ROOT),
          ...{ entryPoints: [`bench/server/peers/${file}.ts`], outfile },
          ...{ bundle: true, format: "esm", platform: "node" },
          ...{ target: "node20", packages: "external", logLevel: "warning" },
        });
      } finally {
        await stop();
      }
    },
  };
}

/** All of them. */
export const SUBJECTS: readonly Subject[] = [
  own("cellular", cellular, { note: " (default)" }),
  own("cellular", cellular, { note: ", team", isTeam: true }),
  own("auto", auto),
  own("auto", auto, { note: ", team", isTeam: true }),
  own("graph", ({ batchMax }) => ({ batchSizeMax: batchMax, windowNs: 0 })),
  peer(
    `onnxruntime-node ${ORT_VERSION}, window`,
    "window_server",
    {
      "onnxruntime-node": ORT_VERSION,
      "@huggingface/tokenizers": TOKENIZERS_VERSION,
    },
    ({ batchMax, windowMs }) => [batchMax, windowMs],
  ),
  peer(
    `transformers.js ${TRANSFORMERS_VERSION}`,
    "transformers_server",
    {
      "onnxruntime-node": ORT_VERSION,
      "@huggingface/transformers": TRANSFORMERS_VERSION,
    },
    () => [],
  ),
];

/** A server that runs. */
export interface Running extends AsyncDisposable {
  readonly origin: string;
}

/** Starts one and waits until it listens. */
export async function started(
  subject: Subject,
  options: SubjectOptions,
): Promise<Running> {
  const port = await freePort();
  const [command, ...args] = subject.command(options, port);
  const child = spawn(command, args, {
    cwd: fileURLToPath(ROOT),
    stdio: ["ignore", "pipe", "inherit"],
  });
  await listening(subject.name, child);
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function listening(name: string, child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout!.on("data", (text) => {
      if (`${text}`.includes("listening")) resolve();
    });
    child.on("error", reject);
    child.on(
      "exit",
      (code) =>
        reject(new Error(`${name} ended with ${code} before it listened`)),
    );
  });
}

/** A port that nobody has; somebody may take it before it is used. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
