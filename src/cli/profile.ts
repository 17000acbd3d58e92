/** `shoal profile`: what a batch of each cell of a model takes on this machine, as a table. */
import { describe } from "../base/describe.ts";
import os from "node:os";
import { runtimeName } from "../engine/wall/runtime.ts";
import type { BatchCurve } from "../report/bench_result.ts";
import { renderTable } from "../report/table.ts";
import { besideOthers } from "./beside_others.ts";
import {
  batchCurves,
  MORE_SIZES,
  profiledSizes,
  profileTable,
  requestsAtOnce,
  SIZES,
} from "./batch_curve.ts";
import type { ProfileTable } from "../policy/profile.ts";
import { MODELS, SIZE_CLASSES, type SizeClass } from "../models/registry.ts";
import { buildModel, type BuiltModel } from "./bench_models.ts";
import { BenchRun, slotsFor, withExecutor } from "./bench_run.ts";
import {
  BENCH_FILE_HELP,
  benchSettings,
  hiddenOption,
  measuredFile,
  refuseFileOptions,
  sizeOption,
} from "./bench_settings.ts";
import { checkApart, checkWritable, writeText } from "./files.ts";
import {
  recordedLoad,
  type RecordedRun,
  REQUESTS_MOST,
  stretchesOf,
} from "./recorded_load.ts";
import { hostTime } from "./host_time.ts";
import { BATCH_MAX, threadsMax } from "./limits.ts";
import { builtFile, isFile } from "./onnx_built.ts";
import { type FileOptions, ONNX_OPTIONS } from "./onnx_file.ts";
import { INPUT_OPTION, inputFiles } from "./onnx_inputs.ts";
import {
  integerOption,
  integersOption,
  readOptions,
  see,
  seedOption,
} from "./options.ts";
import { rowTokens } from "./row_tokens.ts";
import { printBeside, progress, stdoutColor, UsageError } from "./terminal.ts";

const MODELS_MEASURED = Object.keys(MODELS).join(", ");

/** How large models are unless told otherwise: the same on every machine. */
const SIZE: SizeClass = "medium";

/** Each size is measured that often, in turns, a piece of load recorded behind each: seconds of a machine differ. */
const TURNS = 7;

const HELP = `shoal profile MODEL|MODEL.onnx [options]

Measures the WASM kernels of a model on this machine, per cell and batch size, and prints median times, of the fastest of
${TURNS} turns: what the machine takes with nothing else to do.

  MODEL             ${MODELS_MEASURED}
  --size CLASS      how large a model of the registry is: ${
  SIZE_CLASSES.join(", ")
} (default ${SIZE})
  --hidden N        hidden size of a model that has one, instead of the class's
  --option KEY=VAL  any option of the model, e.g. size=224; may be repeated
  --sizes N,N,...   batch sizes (default ${
  SIZES.join(",")
}; of trees, which have many rows at once,
                    ${MORE_SIZES.join(",")} as well, as far as there is room)
  --workers N       that compute at the same time (default 1)
  --seed N          seed of weights and inputs (default 1)
  --out FILE        save the table as JSON; {"profile": FILE} as "cost" of shoal simulate reads it, and
                    so does the "profile" option of lazy, oracle and dvabatch there
  --json            the same JSON on stdout

Of a file, whose requests are drawn as its inputs say (ids below the size of the table that they pick from):
${BENCH_FILE_HELP}`;

export async function profile(args: string[]): Promise<number> {
  const measured = await measuredProfile(args);
  if (measured === undefined) return 0;
  try {
    save(measured);
  } finally {
    // Minutes of work, for which there may be no room any more.
    printProfile(measured);
  }
  return 0;
}

/**
 * Measures and saves without a word on stdout, which is its caller's.
 * @param args of `shoal profile`
 */
export async function savedProfile(args: string[]): Promise<void> {
  const measured = await measuredProfile(args);
  if (measured !== undefined) save(measured);
}

function save({ out, text }: MeasuredProfile): void {
  if (out === undefined) return;
  writeText(out, text);
  progress(`saved: ${out}`);
}

function printProfile(
  { built, sizes, tablesNs, text, out, isJson }: MeasuredProfile,
): void {
  if (isJson) return printBeside([out], text);
  const rows = Object.entries(tablesNs).map(([cell, points]) => {
    const byRows = new Map(points);
    const times = sizes.map((size) => {
      const ns = byRows.get(size);
      return ns === undefined ? "-" : (ns / 1000).toFixed(1);
    });
    // Of a file all cells have its name in front.
    const prefix = `${built.model.name}/`;
    const short = cell.startsWith(prefix) ? cell.slice(prefix.length) : cell;
    return [short, ...times].map((text) => ({ text }));
  });
  const columns = [
    { title: "us per batch of" },
    ...sizes.map((size) => ({
      title: String(size),
      align: "right" as const,
    })),
  ];
  const table = renderTable({ columns, rows }, { color: stdoutColor() });
  printBeside([out], table);
}

/** A profile, measured as its arguments say. */
interface MeasuredProfile {
  readonly built: BuiltModel;
  readonly sizes: readonly number[];
  readonly tablesNs: ProfileTable;
  /** As it is saved. */
  readonly text: string;
  /** Where; undefined: nowhere. */
  readonly out: string | undefined;
  /** Whether it is to be printed so. */
  readonly isJson: boolean;
}

/** @returns undefined when help or version was asked for */
async function measuredProfile(
  args: string[],
): Promise<MeasuredProfile | undefined> {
  const given = readOptions({
    name: "shoal profile",
    help: HELP,
    positionalsMax: 1,
    options: {
      ...ONNX_OPTIONS,
      ...INPUT_OPTION,
      hidden: { type: "string" },
      option: { type: "string", multiple: true },
      sizes: { type: "string" },
      workers: { type: "string" },
      seed: { type: "string" },
      out: { type: "string" },
      json: { type: "boolean", default: false },
    },
  }, args);
  if (given === undefined) return undefined;
  const { values, positionals: [name] } = given;
  if (name === undefined) {
    throw new UsageError(
      `MODEL is missing: ${MODELS_MEASURED} or a file${see("shoal profile")}`,
    );
  }
  const seed = seedOption(values.seed);
  const asked = sizesOption(values.sizes);
  if (values.out !== undefined) {
    checkWritable(values.out);
    const file = isFile(name) ? name : undefined;
    checkApart(values.out, [file, ...inputFiles(values.input)]);
  }
  const built = await builtModel(name, seed, values);
  const workers = integerOption("workers", values.workers, 1, {
    min: 1,
    max: threadsMax(),
  });
  const sizes = asked ?? profiledSizes(
    built.model,
    workers,
    (requests) => slotsFor(built, requests).requests >= requests,
  );
  const requests = requestsAtOnce(Math.max(...sizes), workers);
  const room = slotsFor(built, requests);
  if (room.requests < requests) {
    throw new UsageError(
      `${requests} requests at once, twice the largest of --sizes for each worker, do not fit: there is room for ` +
        `${room.requests}; try smaller sizes`,
    );
  }
  const settings = {
    ...benchSettings([`--seed=${seed}`, "--workers", `${workers}`])!,
    requests,
  };
  const tokens = rowTokens(built, seed);
  const { curves, host, runs } = await besideOthers(() =>
    withExecutor(built, settings, async (executor) => {
      progress(`${name}: warming up`);
      await new BenchRun(built, executor, settings).warmUp();
      const curves: BatchCurve[] = [];
      const runs: RecordedRun[] = [];
      // As many as there is room for in the memory that is there.
      const all = slotsFor(built, REQUESTS_MOST);
      const most = all.slotBytes === room.slotBytes
        ? all.requests
        : room.requests;
      // In the first seconds under load threads that compile take processors: that is not what the machine is like.
      const recorded = (seed: number) =>
        recordedLoad(built, executor, most, seed, tokens?.mean);
      await recorded(seed);
      for (let turn = 1; turn <= TURNS; turn++) {
        const { model, inputs } = built;
        for (const size of sizes) {
          progress(`${name}: batches of ${size}, turn ${turn} of ${TURNS}`);
          curves.push(
            ...await batchCurves(model, executor, inputs, [size], seed),
          );
        }
        progress(`${name}: under load`);
        runs.push(...await recorded(seed + runs.length));
      }
      const host = await hostTime(built, executor, sizes, seed);
      return { curves, host, runs };
    })
  );
  const tablesNs = profileTable(curves);
  const result = {
    model: name,
    sizes: built.sizes,
    ...(built.options && { options: built.options }),
    machine: `${
      os.cpus()[0]?.model ?? "unknown"
    }, ${os.platform()} ${os.arch()}, ${runtimeName()}`,
    seed,
    workers,
    host,
    stretches: stretchesOf(runs, tablesNs, workers, host.requestNs),
    ...(tokens && { tokens }),
    tablesNs,
  };
  const text = `${JSON.stringify(result, undefined, 1)}\n`;
  const { out, json } = values;
  return { built, sizes, tablesNs, text, out, isJson: json };
}

/** A model of the registry, or of a file. */
async function builtModel(
  name: string,
  seed: number,
  given: FileOptions & {
    readonly input?: readonly string[];
    readonly hidden?: string;
    readonly option?: readonly string[];
  },
): Promise<BuiltModel> {
  const { hidden: hiddenText, option } = given;
  if (isFile(name)) {
    if (hiddenText !== undefined || option !== undefined) {
      throw new UsageError(
        `--${hiddenText !== undefined ? "hidden" : "option"} is for models ` +
          `of the registry, not for files${see("shoal profile")}`,
      );
    }
    const file = measuredFile("shoal profile", name, given);
    return await builtFile("shoal profile", name, file, seed);
  }
  if (!Object.hasOwn(MODELS, name)) {
    throw new UsageError(
      `No model ${
        describe(name)
      }; there are ${MODELS_MEASURED}, and files called *.onnx`,
    );
  }
  refuseFileOptions("shoal profile", given);
  const size = sizeOption(given.size, SIZE);
  const hidden = hiddenOption(hiddenText, [name]);
  return buildModel(name, size, seed, {
    ...(hidden !== undefined && { hidden }),
    ...optionsOf(name, option ?? []),
  });
}

/** @throws UsageError naming an option that is none of the model's */
function optionsOf(
  name: string,
  given: readonly string[],
): Record<string, unknown> {
  const { options } = MODELS[name];
  return Object.fromEntries(given.map((text) => {
    const at = text.indexOf("=");
    const key = text.slice(0, Math.max(0, at));
    if (!options.includes(key)) {
      throw new UsageError(
        `--option ${
          describe(text)
        } is not KEY=VALUE with an option of "${name}": ${options.join(", ")}`,
      );
    }
    const value = text.slice(at + 1);
    try {
      return [key, JSON.parse(value)];
    } catch {
      return [key, value];
    }
  }));
}

function sizesOption(text: string | undefined): number[] | undefined {
  if (text === undefined) return undefined;
  const sizes = integersOption("sizes", text, { min: 1, max: BATCH_MAX });
  return [...new Set(sizes)].sort((a, b) => a - b);
}
