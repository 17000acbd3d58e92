/** The servers that are compared, each a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { folderOf, install } from "../kernels/peers/install.ts";
import { ORT_VERSION } from "../kernels/peers/ort.ts";
import { ROOT } from "../kernels/root.ts";
import { MODEL } from "./model_files.ts";

/** How all of them are set up. */
export interface SubjectOptions {
  /** Folder of models. */
  readonly models: string;
  /** Threads that compute. */
  readonly threads: number;
  readonly batchMax: number;
  /** Time that a batcher of a peer waits for a batch to fill. */
  readonly windowMs: number;
}

/** A server that is compared. */
export interface Subject {
  readonly name: string;
  /** The program, and what it is given. @param sloMs refuses what is not expected within it; 0: nothing */
  command(
    options: SubjectOptions,
    port: number,
    sloMs: number,
  ): readonly string[];
  /** Gets ready what it needs. */
  prepare?(): Promise<void>;
}

const PEER = "build/bench/server/ort_server.js";
const TOKENIZERS_VERSION = "0.2.0";

function own(name: string, policy: string): Subject {
  return {
    name,
    command: ({ models, batchMax, threads }, port, sloMs) => [
      ...[process.execPath, "run", "-A", "bench/server/own_server.ts"],
      ...[`${models}${MODEL}`, `${port}`, policy, `${batchMax}`],
      ...[`${threads}`, `${sloMs}`],
    ],
  };
}

/** All of them. */
export const SUBJECTS: readonly Subject[] = [
  own("shoal, cellular", "cellular"),
  own("shoal, graph", "graph"),
  {
    name: `onnxruntime-node ${ORT_VERSION}, window`,
    command: ({ models, batchMax, windowMs, threads }, port) => [
      ...["node", PEER, `${models}${MODEL}`, `${port}`, `${batchMax}`],
      ...[`${windowMs}`, `${threads}`],
      fileURLToPath(
        new URL("../../package.json", folderOf("onnxruntime-node")),
      ),
    ],
    async prepare() {
      install({
        "onnxruntime-node": ORT_VERSION,
        "@huggingface/tokenizers": TOKENIZERS_VERSION,
      });
      try {
        await build({
          absWorkingDir: fileURLToPath(ROOT),
          entryPoints: ["bench/server/peers/ort_server.ts"],
          outfile: PEER,
          ...{ bundle: true, format: "esm", platform: "node" },
          ...{ target: "node20", packages: "external", logLevel: "warning" },
        });
      } finally {
        await stop();
      }
    },
  },
];

/** A server that runs. */
export interface Running extends AsyncDisposable {
  readonly origin: string;
}

/** Starts one and waits until it listens. */
export async function started(
  subject: Subject,
  options: SubjectOptions,
  sloMs = 0,
): Promise<Running> {
  const port = await freePort();
  const [command, ...args] = subject.command(options, port, sloMs);
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
