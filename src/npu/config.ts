/** A machine: array, clock, memories, number format. All the event level needs to know. */
import { ofType } from "../base/checked_options.ts";
import { knownOptions } from "../base/options.ts";
import { type ArrayShape, type Dataflow, DATAFLOWS } from "./dataflow.ts";
import { nonNegativeInteger, oneOf, positiveInteger } from "./checks.ts";
import type { DramConfig } from "./memory/dram.ts";

/**
 * What operands and sums are: int8 with 32-bit sums, results requantised to 8 bits; bf16 (two bytes) or f32 with f32
 * sums.
 */
export type NumberFormat = "int8" | "bf16" | "f32";

export const NUMBER_FORMATS: Readonly<
  Record<
    NumberFormat,
    { readonly operandBytes: number; readonly sumBytes: number }
  >
> = {
  int8: { operandBytes: 1, sumBytes: 4 },
  bf16: { operandBytes: 2, sumBytes: 4 },
  f32: { operandBytes: 4, sumBytes: 4 },
};

/** A machine: array, clock, memories, number format. Numbers are positive integers. */
export interface NpuConfig {
  /** What profiles and messages call it. */
  name: string;
  /** Where the figures are from, and what is assumed. */
  source: string;
  /** Processing elements. */
  array: ArrayShape;
  /** Which operand stays in the array. */
  dataflow: Dataflow;
  /**
   * "causal": folds one after another; "overlapped": the next fold's resident operand is loaded while the array works
   * on this one's (docs/npu.md, accounting modes).
   */
  mode: "causal" | "overlapped";
  /** Cycles per second of array, vector unit and DRAM port. */
  clockHz: number;
  /** What operands and sums are. */
  format: NumberFormat;
  /** On-chip bytes for activations, inputs and outputs. */
  activationBytes: number;
  /** On-chip bytes for weights. */
  weightBytes: number;
  /**
   * Bytes of the accumulators below the array, where the sums of two tiles stay until the vector unit
   * has passed over them. In `causal` mode they are counted as part of the ofmap scratchpad.
   */
  accumulatorBytes: number;
  /** Elements the vector unit handles per cycle. */
  vectorLanes: number;
  /** Memory off the chip. */
  dram: DramConfig;
}

/** Every field, and those of the parts. */
const FIELDS: readonly (keyof NpuConfig)[] = [
  "name",
  "source",
  "array",
  "dataflow",
  "mode",
  "clockHz",
  "format",
  "activationBytes",
  "weightBytes",
  "accumulatorBytes",
  "vectorLanes",
  "dram",
];
const ARRAY_FIELDS: readonly (keyof ArrayShape)[] = ["rows", "cols"];
const DRAM_FIELDS: readonly (keyof DramConfig)[] = [
  "channels",
  "latencyCycles",
  "bytesPerSecond",
  "burstBytes",
];

/**
 * Checks every field of a machine; `createNpu` does it as well.
 * @returns a copy: what the caller does to its own later changes no machine
 * @throws RangeError naming the field that cannot be, TypeError on one that there is not
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { checkConfig, preset } from "@shoal/core/npu";
 *
 * const small = { ...preset("gemmini"), name: "small", array: { rows: 8, cols: 8 } };
 * assert.deepEqual(checkConfig(small), small);
 * assert.throws(() => checkConfig({ ...small, vectorLanes: 0 }), /vectorLanes/);
 * ```
 */
export function checkConfig(given: NpuConfig): NpuConfig {
  knownOptions("A machine", given, FIELDS, "field");
  const { array, dram, ...rest } = given;
  knownOptions('"array" of a machine', array, ARRAY_FIELDS, "field");
  knownOptions('"dram" of a machine', dram, DRAM_FIELDS, "field");
  const config = { ...rest, array: { ...array }, dram: { ...dram } };
  ofType("string")("name", config.name);
  ofType("string")("source", config.source);
  positiveInteger(config.array.rows, "array.rows");
  positiveInteger(config.array.cols, "array.cols");
  oneOf(config.dataflow, DATAFLOWS, "dataflow");
  oneOf(config.mode, ["causal", "overlapped"], "mode");
  oneOf(config.format, Object.keys(NUMBER_FORMATS), "format");
  for (
    const key of [
      "clockHz",
      "activationBytes",
      "weightBytes",
      "accumulatorBytes",
      "vectorLanes",
    ] as const
  ) positiveInteger(config[key], key);
  positiveInteger(config.dram.channels, "dram.channels");
  positiveInteger(config.dram.bytesPerSecond, "dram.bytesPerSecond");
  positiveInteger(config.dram.burstBytes, "dram.burstBytes");
  nonNegativeInteger(config.dram.latencyCycles, "dram.latencyCycles");
  return config;
}

/** Our own JSON form: the fields of NpuConfig, any subset of them over `base`. Unknown keys are refused. */
export function parseConfigJson(
  text: string,
  { file, base }: { file: string; base: NpuConfig },
): NpuConfig {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw new RangeError(`${file}: not JSON (${(cause as Error).message})`, {
      cause,
    });
  }
  try {
    return checkConfig(merged(base, value, "") as NpuConfig);
  } catch (cause) {
    const { message } = cause as Error;
    throw new RangeError(`${file}${placeOf(message, text)}: ${message}`, {
      cause,
    });
  }
}

/** ":line:column" of the key that a message names, as far as it stands in the file. */
function placeOf(message: string, text: string): string {
  const key = /key "(?:[^"]*\.)?([^".]+)"|^(?:\w+\.)?(\w+) must/.exec(message);
  const name = key?.[1] ?? key?.[2];
  const lines = text.split("\n");
  const line = lines.findIndex((one) => one.includes(`"${name}"`));
  if (line < 0) return "";
  return `:${line + 1}:${lines[line].indexOf(`"${name}"`) + 1}`;
}

function merged(base: unknown, given: unknown, path: string): unknown {
  if (typeof base !== "object" || base === null) {
    if (typeof given !== typeof base) {
      throw new RangeError(
        `key "${path}" must be a ${typeof base}, got ${JSON.stringify(given)}`,
      );
    }
    return given;
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new RangeError(
      `${path === "" ? "the file" : `key "${path}"`} must be an object`,
    );
  }
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(given)) {
    if (!Object.hasOwn(base, key)) {
      const known = Object.keys(base).join(", ");
      throw new RangeError(
        `unknown key "${
          path === "" ? key : `${path}.${key}`
        }"; known: ${known}`,
      );
    }
    result[key] = merged(
      (base as Record<string, unknown>)[key],
      value,
      path === "" ? key : `${path}.${key}`,
    );
  }
  return result;
}
