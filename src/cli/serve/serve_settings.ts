/** What `shoal serve` is told: options, and `shoal.json` of the folder, which options go before. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { POLICIES } from "../../policy/registry.ts";
import { parallelism } from "../../engine/wall/runtime.ts";
import { originFault } from "../../server/http/cors.ts";
import { METRIC_NAMES } from "../../server/monitor.ts";
import { checkedBy } from "../checked_by.ts";
import { parseJson, readText } from "../files.ts";
import { UsageError } from "../terminal.ts";

/** What has them, in the folder of models. */
export const SETTINGS_FILE = "shoal.json";

const names = Object.keys(POLICIES) as [string, ...string[]];

/** What a server's settings may be; published as docs/schemas/server.json. */
export const SERVER_SETTINGS = z.strictObject({
  $schema: z.string().optional(),
  // An empty one would be every network.
  host: z.string().min(1).default("127.0.0.1").describe(
    "Where to listen; the default is reached from this machine alone",
  ),
  port: z.int().min(0).max(65_535).default(8000).describe(
    "0: any that is free",
  ),
  grpc_port: z.int().min(0).max(65_535).optional().describe(
    "The Open Inference Protocol over gRPC at this port, too; needs @grpc/grpc-js",
  ),
  slo_ms: z.number().positive().optional().describe(
    "Within which requests are to be done; what will not be is refused when it comes",
  ),
  policy: z.strictObject({
    name: z.enum(names).default("cellular"),
    options: z.record(z.string(), z.unknown()).default({}),
  }).default({ name: "cellular", options: {} }),
  max_batch_size: z.int().min(1).default(64).describe(
    "Most rows of a batch, of policies that have such a limit",
  ),
  workers: z.int().min(0).max(1024).default(Math.max(1, parallelism() - 1))
    .describe("Default: one less than there are cores"),
  threads_per_worker: z.int().min(1).max(256).default(1),
  worker_niceness: z.int().min(0).max(19).default(10).describe(
    "Nice value of worker threads, so that the event loop goes first; Linux only, in Deno with --allow-sys=setPriority",
  ),
  slot_bytes: z.int().min(2 ** 16).max(2 ** 31).default(2 ** 28).describe(
    "Room for requests in flight",
  ),
  max_queue_size: z.int().min(1).default(10_000).describe(
    "Requests that may wait",
  ),
  lame_duck_ms: z.int().min(0).max(3_600_000).default(0).describe(
    "How long after SIGTERM requests are served though the server says that it is not ready, so that balancers hear of it",
  ),
  grace_ms: z.int().min(0).max(3_600_000).default(30_000).describe(
    "How long requests under way may take when the server is told to end",
  ),
  priority_levels: z.int().min(1).optional().describe(
    "Of requests: 1 is the highest; default 1, no priorities",
  ),
  metrics: z.strictObject({
    compatible: z.array(z.enum(METRIC_NAMES)).default([]).describe(
      "Servers under whose names /metrics has figures as well, for dashboards made for them",
    ),
  }).optional(),
  keys: z.array(z.strictObject({
    name: z.string().describe("What logs and figures call its holder"),
    sha256: z.string().regex(/^[0-9a-fA-F]{64}$/).describe(
      "The key's SHA-256, in hexadecimal digits",
    ),
    scope: z.enum(["infer", "admin"]).optional().describe(
      "admin: loading and unloading models, too",
    ),
    models: z.array(z.string()).optional().describe("Default: all"),
    requests_per_second: z.number().positive().optional(),
    burst: z.number().positive().optional(),
    cost_ms_per_second: z.number().positive().optional().describe(
      "Work, in milliseconds of one worker's time",
    ),
  })).optional().describe(
    "Who may call it; default: anybody may ask models, nobody load and unload them",
  ),
  cors: z.strictObject({
    origins: z.array(
      z.string().superRefine((origin, context) => {
        const fault = originFault(origin);
        if (fault !== undefined) context.addIssue(`it has to be ${fault}`);
      }),
    ).describe('Such as "https://app.example"; "*": all'),
  }).optional().describe(
    "Pages of which other origins may read answers; default: of none",
  ),
  tls: z.strictObject({ cert: z.string(), key: z.string() }).optional()
    .describe("Files, as PEM; paths from this one"),
});

/** A server's settings. */
export type ServerSettings = z.infer<typeof SERVER_SETTINGS>;

/** Options of the command line, as texts. */
interface GivenOptions {
  readonly "slo-ms"?: string;
  readonly host?: string;
  readonly port?: string;
  readonly "grpc-port"?: string;
  readonly policy?: string;
  readonly "max-batch-size"?: string;
  readonly workers?: string;
  readonly "lame-duck-ms"?: string;
  readonly "cors-origin"?: string[];
  readonly "tls-cert"?: string;
  readonly "tls-key"?: string;
}

/**
 * Settings of a folder's `shoal.json`, if it has one, and of options.
 * @throws UsageError naming what cannot be
 */
export function readSettings(
  folder: string,
  given: GivenOptions,
): ServerSettings {
  const file = join(folder, SETTINGS_FILE);
  const own = existsSync(file)
    ? checkedBy(
      z.looseObject({}),
      parseJson(readText(file), SETTINGS_FILE),
      SETTINGS_FILE,
    )
    : {};
  const { policy: name, host, "tls-cert": cert, "tls-key": key } = given;
  const { "cors-origin": origins } = given;
  if ((cert === undefined) !== (key === undefined)) {
    const [has, lacks] = key === undefined ? ["cert", "key"] : ["key", "cert"];
    throw new UsageError(`--tls-${has} needs --tls-${lacks}`);
  }
  // What is no number the schema refuses, as it was written.
  const number = (text: string | undefined) =>
    text?.trim() && !Number.isNaN(Number(text)) ? Number(text) : text;
  const options = {
    host,
    port: number(given.port),
    grpc_port: number(given["grpc-port"]),
    slo_ms: number(given["slo-ms"]),
    max_batch_size: number(given["max-batch-size"]),
    workers: number(given.workers),
    lame_duck_ms: number(given["lame-duck-ms"]),
    cors: origins && { origins },
    // Paths of options are from where the command is run.
    tls: cert === undefined && key === undefined ? undefined : {
      cert: cert === undefined ? undefined : resolve(cert),
      key: key === undefined ? undefined : resolve(key),
    },
    policy: name === undefined ? undefined : { name },
  };
  const set = Object.entries(options).filter(([, value]) =>
    value !== undefined
  );
  const settings = { ...own, ...Object.fromEntries(set) };
  return checkedBy<ServerSettings>(
    SERVER_SETTINGS as z.ZodType<ServerSettings>,
    settings,
    existsSync(file) ? `${SETTINGS_FILE} and options` : "the options",
  );
}
