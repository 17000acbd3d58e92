/**
 * onnxruntime-web as a peer: installed by the bench alone, under build/, so that it is
 * neither a dependency of the package nor in its lock file.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import process from "node:process";

/** Version the figures in the documentation were taken with. */
export const ORT_WEB_VERSION = "1.30.0";

const PEER = new URL("../../build/peer/", import.meta.url);
const DIST = new URL("node_modules/onnxruntime-web/dist/", PEER);

/** The part of onnxruntime-web's interface the benches use. */
export interface OrtTensor {
  data: Float32Array;
}
export interface OrtSession {
  run(feeds: Record<string, OrtTensor>): Promise<Record<string, OrtTensor>>;
  release(): Promise<void>;
}
export interface Ort {
  Tensor: new (
    type: "float32",
    data: Float32Array,
    shape: readonly number[],
  ) => OrtTensor;
  InferenceSession: {
    create(
      model: Uint8Array,
      options: Record<string, unknown>,
    ): Promise<OrtSession>;
  };
  env: { wasm: { numThreads: number; wasmPaths: string }; logLevel: string };
}

/** Installs onnxruntime-web if needed and loads its WASM backend with one thread. */
export async function loadOrtWeb(): Promise<Ort> {
  if (!existsSync(DIST)) install();
  const ort = await import(new URL("ort.wasm.min.mjs", DIST).href) as Ort;
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = DIST.href;
  ort.env.logLevel = "error";
  return ort;
}

/** A session on the WASM backend. */
export function createSession(
  ort: Ort,
  model: Uint8Array,
): Promise<OrtSession> {
  return ort.InferenceSession.create(model, {
    executionProviders: ["wasm"],
    graphOptimizationLevel: "all",
    intraOpNumThreads: 1,
  });
}

function install(): void {
  process.stderr.write(
    `installing onnxruntime-web ${ORT_WEB_VERSION} under build/peer\n`,
  );
  mkdirSync(PEER, { recursive: true });
  writeFileSync(
    new URL("deno.json", PEER),
    '{ "nodeModulesDir": "auto", "lock": false }\n',
  );
  const dependencies = { "onnxruntime-web": ORT_WEB_VERSION };
  writeFileSync(
    new URL("package.json", PEER),
    JSON.stringify({ dependencies }) + "\n",
  );
  const { status, stderr } = spawnSync(process.execPath, ["install"], {
    cwd: PEER,
  });
  if (status !== 0) {
    throw new Error(`Cannot install onnxruntime-web: ${stderr}`);
  }
}
