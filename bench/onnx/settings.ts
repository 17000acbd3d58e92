/** What bench:onnx is asked for. */
import { ROUNDS_MAX } from "../../src/cli/limits.ts";
import {
  integerOf,
  integerOption,
  oneName,
  seedOption,
} from "../../src/cli/options.ts";
import { UsageError } from "../../src/cli/terminal.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { filesOf, type ModelFile } from "./files.ts";

/** The options as they are given. */
export interface OnnxValues {
  policy?: string;
  "in-flight"?: string;
  batch?: string;
  "max-id"?: string;
  size?: string[];
  rounds?: string;
  quick?: boolean;
  seed?: string;
}

/** What they ask for. */
export interface OnnxSettings {
  files: readonly ModelFile[];
  policy: string;
  inFlight: number;
  /** Requests of one batch at most. */
  batchMax: number;
  /** Inputs of integers are below it. */
  maxId: number;
  /** Axes that files leave open, by name. */
  sizes: Readonly<Record<string, number>>;
  rounds: number;
  /** What each side does in a round lasts so long at least. */
  roundMs: number;
  seed: number;
}

const IN_FLIGHT = 64;
const IN_FLIGHT_MAX = 1024;
const MAX_ID = 100;
const SIZE_MAX = 1_000_000;
const ROUNDS = 5;
const QUICK_ROUNDS = 2;
const ROUND_MS = 200;
const QUICK_ROUND_MS = 50;

/** @throws {UsageError} on a value that does not do, a path that is none, or no path */
export function onnxSettings(
  values: OnnxValues,
  paths: readonly string[],
): OnnxSettings {
  const { policy = "cellular", size = [], rounds, quick = false, seed } =
    values;
  const inFlight = integerOption(
    "in-flight",
    values["in-flight"],
    IN_FLIGHT,
    { min: 1, max: IN_FLIGHT_MAX },
  );
  return {
    files: filesOf(paths),
    policy: oneName("--policy", policy, Object.keys(POLICIES)),
    inFlight,
    batchMax: integerOption("batch", values.batch, inFlight, {
      min: 1,
      max: IN_FLIGHT_MAX,
    }),
    maxId: integerOption("max-id", values["max-id"], MAX_ID, {
      min: 1,
      max: 2 ** 31 - 1,
    }),
    sizes: Object.fromEntries(size.map(sizeOf)),
    rounds: integerOption("rounds", rounds, quick ? QUICK_ROUNDS : ROUNDS, {
      min: 1,
      max: ROUNDS_MAX,
    }),
    roundMs: quick ? QUICK_ROUND_MS : ROUND_MS,
    seed: seedOption(seed),
  };
}

function sizeOf(text: string): [name: string, size: number] {
  const [name, size, ...more] = text.split("=");
  if (name === "" || size === undefined || more.length > 0) {
    throw new UsageError(
      `--size is the name of an axis and its size, as sequence=128, got "${
        text.slice(0, 80)
      }"`,
    );
  }
  return [name, integerOf(`--size ${name}`, size, { min: 1, max: SIZE_MAX })];
}
