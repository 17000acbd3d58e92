/** `shoal serve`: models of a folder over HTTP. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { EngineHost } from "../server/host/engine_host.ts";
import { servedLabel, type ServedModel } from "../server/host/served_model.ts";
import { KeyedAdmission } from "../server/keys/keyed_admission.ts";
import { type KeyEntry, KeyRing } from "../server/keys/key_ring.ts";
import { Monitor } from "../server/monitor.ts";
import { AccessLog } from "../server/observe/access_log.ts";
import { CostAdmission } from "../server/admission/cost_admission.ts";
import { MODEL_FILES } from "../server/repository/load_model.ts";
import { Repository } from "../server/repository/repository.ts";
import type { HostObserver } from "../server/host/host_observer.ts";
import { LoadAgent } from "../server/observe/load_agent.ts";
import type { GrpcModule } from "../server/grpc/grpc_module.ts";
import { listenGrpc } from "../server/grpc/listen_grpc.ts";
import { listen } from "../server/runtime/listen.ts";
import {
  type AgentListener,
  listenAgent,
} from "../server/runtime/listen_agent.ts";
import { createServer, type Server } from "../server/server.ts";
import { integerOf, readOptions, see } from "./options.ts";
import { endOnSignal } from "./serve/ending.ts";
import { FolderFiles } from "./serve/folder_files.ts";
import { grpcCaution, loadGrpc } from "./serve/load_grpc.ts";
import { policyOf } from "./serve/served_policy.ts";
import {
  readSettings,
  type ServerSettings,
  SETTINGS_FILE,
} from "./serve/serve_settings.ts";
import { readTls, type Tls } from "./serve/tls_files.ts";
import { checkPorts, tellPort, type WantedPort } from "./serve/wanted_ports.ts";
import {
  EXIT,
  outliveReaders,
  print,
  progress,
  UsageError,
} from "./terminal.ts";
import { VERSION } from "./version.ts";

const NAME = "shoal serve";

const HELP = `${NAME} DIR [options]

Serves the models of a folder over HTTP: each has a folder of its own, with model.onnx, or model.safetensors and what
it has the weights of; tokenizer.json, if it takes text; and shoal.json, if there is more to say (docs/server.md).
Options go before those of DIR/shoal.json.

  --slo-ms MS           within which requests are to be done
  --host HOST           where to listen; default 127.0.0.1: from this machine alone
  --port N              default 8000; 0: any that is free
  --grpc-port N         the Open Inference Protocol over gRPC, too; needs @grpc/grpc-js
  --policy NAME         default cellular
  --max-batch-size N    most rows of a batch; default 64
  --workers N           default: one less than there are cores
  --lame-duck-ms MS     how long it serves after SIGTERM though it says that it is not ready; default 0
  --cors-origin ORIGIN  whose pages may read answers, such as https://app.example; any number of times; "*": all
  --tls-cert FILE       certificates as PEM, with --tls-key
  --tls-key FILE        the private key as PEM
  --agent-port N        tells HAProxy's agent-check how much there is to do (docs/scaling.md)
  --access-log          a line of JSON on stdout for each request
  --keep-going          serve what can be loaded, if something cannot

SIGHUP loads models that have changed in DIR; DIR/shoal.json is read once. SIGTERM, when the time of --lame-duck-ms is
over, and SIGINT: no more requests are taken, those that have come are answered, within grace_ms, and it ends; a second
time it waits no longer for what it waits for. When nobody reads its output any more, it goes on.
`;

const TEXT = { type: "string" } as const;

const OPTIONS = {
  "slo-ms": TEXT,
  host: TEXT,
  port: TEXT,
  "grpc-port": TEXT,
  policy: TEXT,
  "max-batch-size": TEXT,
  workers: TEXT,
  "lame-duck-ms": TEXT,
  "cors-origin": { type: "string", multiple: true },
  "tls-cert": TEXT,
  "tls-key": TEXT,
  "agent-port": TEXT,
  "access-log": { type: "boolean" },
  "keep-going": { type: "boolean" },
} as const;

/** Serves until it is told to end. */
export async function serve(args: string[]): Promise<number> {
  const given = readOptions(
    { name: NAME, help: HELP, options: OPTIONS, positionalsMax: 1 },
    args,
  );
  if (given === undefined) return EXIT.success;
  const { values, positionals: [folder] } = given;
  if (folder === undefined) {
    throw new UsageError(`DIR is missing${see(NAME)}`);
  }
  const there = statSync(folder, { throwIfNoEntry: false });
  if (!there?.isDirectory()) {
    const what = there === undefined
      ? `There is no folder ${folder}`
      : `${folder} is a file: DIR has a folder for each model, with its file in it`;
    throw new UsageError(`${what}${see(NAME)}`);
  }
  const path = resolve(folder);
  const settingsChange = () =>
    statSync(join(path, SETTINGS_FILE), { throwIfNoEntry: false })?.mtimeMs;
  const readAt = settingsChange();
  const settings = readSettings(path, values);
  const agentPort = values["agent-port"];
  const agent = agentPort === undefined ? undefined : {
    counts: new LoadAgent(),
    port: integerOf("--agent-port", agentPort, { max: 65_535 }),
  };
  const grpc = settings.grpc_port === undefined ? undefined : loadGrpc();
  const tls = settings.tls && readTls({
    cert: resolve(path, settings.tls.cert),
    key: resolve(path, settings.tls.key),
  });
  const keys = keysOf(settings);
  await checkPorts(portsOf(settings, agent?.port));
  const monitor = new Monitor({
    ...(settings.slo_ms !== undefined && { sloMs: settings.slo_ms }),
    ...settings.metrics,
  });
  const { host, repository } = hostOf(
    path,
    settings,
    [...monitor.observers, ...(agent ? [agent.counts] : [])],
    keys,
  );
  // While it loads for the first time, too: without a handler the signal ends the process.
  const reload = () => {
    repository.sync().then(() => {
      if (settingsChange() === readAt) return;
      // Of a key that was taken out somebody may think that it opens nothing any more.
      progress(
        `${NAME}: ${SETTINGS_FILE} has changed: it is read when the server starts`,
      );
    }).catch((error) => progress(`${NAME}: ${(error as Error).message}`));
  };
  process.on("SIGHUP", reload);
  let told: AgentListener | undefined;
  try {
    await checkFolder(new FolderFiles(path));
    const failed = await repository.sync();
    if (failed.size > 0 && !values["keep-going"]) {
      throw new UsageError(
        `${failed.size} of the models cannot be loaded; --keep-going serves the others`,
      );
    }
    const server = createServer(host, {
      repository,
      monitor,
      ...(keys && { keys }),
      ...(settings.cors && { cors: settings.cors }),
      ...(values["access-log"] && { observers: [new AccessLog(print)] }),
      version: VERSION,
    });
    told = agent && await listenAgent(
      () => agent.counts.line(host.state),
      { hostname: settings.host, port: agent.port },
    ).catch(tellPort({
      option: "--agent-port",
      hostname: settings.host,
      port: agent.port,
    }));
    const code = await listening(path, settings, server, grpc, tls);
    // What was cut off would be waited for.
    if (code !== EXIT.success) process.exit(code);
  } finally {
    await told?.close();
    await host.close();
    process.off("SIGHUP", reload);
  }
  return EXIT.success;
}

/** @throws UsageError where the folder of models is a model's own */
async function checkFolder(files: FolderFiles): Promise<void> {
  for (const name of MODEL_FILES) {
    if (!await files.has(name)) continue;
    throw new UsageError(
      `${name} lies in DIR itself: each model has a folder of its own in it, such as DIR/NAME/${name}${
        see(NAME)
      }`,
    );
  }
}

function portsOf(
  { host: hostname, port, grpc_port }: ServerSettings,
  agentPort: number | undefined,
): WantedPort[] {
  return Object.entries({
    "--port": port,
    "--grpc-port": grpc_port,
    "--agent-port": agentPort,
  }).flatMap(([option, port]) =>
    port === undefined ? [] : [{ option, hostname, port }]
  );
}

/** @throws UsageError where two are one */
function keysOf({ keys }: ServerSettings): KeyRing | undefined {
  try {
    return keys &&
      new KeyRing(keys.map(({ name, sha256, scope, models, ...limits }) => ({
        name,
        sha256,
        ...(scope && { scope }),
        ...(models && { models }),
        ...camelCased(limits),
      })));
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error;
  }
}

function camelCased({ requests_per_second, burst, cost_ms_per_second }: {
  readonly requests_per_second?: number | undefined;
  readonly burst?: number | undefined;
  readonly cost_ms_per_second?: number | undefined;
}): Partial<KeyEntry> {
  return {
    ...(requests_per_second !== undefined &&
      { requestsPerSecond: requests_per_second }),
    ...(burst !== undefined && { burst }),
    ...(cost_ms_per_second !== undefined &&
      { costMsPerSecond: cost_ms_per_second }),
  };
}

function hostOf(
  path: string,
  settings: ServerSettings,
  observers: readonly HostObserver[],
  keys: KeyRing | undefined,
) {
  const { workers, threads_per_worker, slot_bytes, slo_ms, worker_niceness } =
    settings;
  const policy = policyOf(settings);
  const admission = new CostAdmission({
    ...(slo_ms !== undefined && { sloMs: slo_ms }),
    ...(settings.priority_levels !== undefined &&
      { priorityLevels: settings.priority_levels }),
    queueMax: settings.max_queue_size,
    workers: Math.max(1, workers),
  });
  const host = EngineHost.empty({
    policy,
    engine: {
      workers,
      threadsPerWorker: threads_per_worker,
      slotBytes: slot_bytes,
      niceness: worker_niceness,
    },
    admission: keys ? new KeyedAdmission(keys, admission) : admission,
    observers,
    onError: (error) => progress(`${NAME}: ${error.message}`),
  });
  const repository = new Repository(host, new FolderFiles(path), {
    loaded: (served) => {
      progress(`loaded ${described(served)}`);
      for (const note of served.notes ?? []) {
        progress(`${servedLabel(served)}: ${note}`);
      }
    },
    failed: (name, reason) => progress(`cannot load ${name}: ${reason}`),
    unloaded: (name) => progress(`unloaded ${name}`),
  });
  return { host, repository };
}

function described(served: ServedModel): string {
  const tensors = (specs: ServedModel["inputs"]) =>
    specs.map(({ name, datatype, shape }) => `${name} ${datatype}[${shape}]`)
      .join(", ");
  return `${servedLabel(served)} (${served.kind}): ${
    tensors(served.inputs)
  } -> ${tensors(served.outputs)}`;
}

/** Listens until a signal comes and what is under way is answered. @returns the exit code */
async function listening(
  path: string,
  { host: hostname, port, grpc_port, lame_duck_ms, grace_ms }: ServerSettings,
  server: Server,
  grpc: GrpcModule | undefined,
  tls: Tls | undefined,
): Promise<number> {
  const address = { hostname, ...(tls && { tls }) };
  // Somebody else may have taken it while models were loaded.
  const listener = await listen(server, { ...address, port })
    .catch(tellPort({ option: "--port", hostname, port }));
  const grpcListener = grpc &&
    await listenGrpc(server, { ...address, grpc, port: grpc_port ?? 0 })
      .catch(async (error) => {
        await listener.close(0);
        // The package has words of its own for a port that cannot be had, and no code.
        await checkPorts([
          { option: "--grpc-port", hostname, port: grpc_port ?? 0 },
        ]);
        throw error;
      });
  if (server.host.models.length === 0) {
    progress(`there are no models in ${path}: each has a folder in it`);
  }
  const caution = grpc && grpcCaution();
  if (caution) progress(caution);
  outliveReaders(NAME);
  if (grpcListener) print(`gRPC at ${hostname}:${grpcListener.port}`);
  print(`listening at ${listener.url}`);
  return await endOnSignal({
    server,
    listener: {
      async close(graceMs) {
        await Promise.all([
          listener.close(graceMs),
          grpcListener?.close(graceMs),
        ]);
      },
    },
    tell: progress,
    lameDuckMs: lame_duck_ms,
    graceMs: grace_ms,
  });
}
