/** Profiles as `shoal profile` saves them, as planning takes them. */
import * as z from "zod";
import { onCurve } from "../../base/curve.ts";
import { shorten } from "../../base/describe.ts";
import { type MachineTimes, ProfiledCost } from "../../plan/profiled_cost.ts";
import { RecordedTime } from "../../plan/recorded_time.ts";
import type { Machine } from "../../plan/simulated_trial.ts";
import { checkedBy } from "../checked_by.ts";
import { parseJson, readText } from "../files.ts";
import { VIRTUAL_WORKERS_MAX } from "../limits.ts";
import { isFile } from "../onnx_built.ts";
import { profileIn } from "../read_profile.ts";
import { UsageError } from "../terminal.ts";

const points = z.array(z.tuple([z.int().min(1), z.number().min(0)])).min(1);

const SCHEMA = z.looseObject({
  model: z.string(),
  options: z.record(z.string(), z.unknown()).optional(),
  machine: z.string(),
  // Of whatever machine: none of them is started to plan.
  workers: z.int().min(1).max(VIRTUAL_WORKERS_MAX),
  host: z.looseObject({
    taskNs: points,
    turnNs: points,
    requestNs: z.number().min(0),
  }),
  stretches: z.array(
    z.object({
      speed: z.array(z.array(z.int().min(1)).min(1)).min(1),
      pauses: z.array(z.tuple([z.number().min(0), z.number().min(0)])),
    }),
    "what the machine did under load is missing: make the profile anew, with shoal profile --out",
  ).min(1),
  tokens: z.looseObject({
    least: z.number(),
    mean: z.number().positive(),
    most: z.number(),
  }).optional(),
});

/** A model as it was measured on a machine. */
export interface MachineProfile {
  readonly file: string;
  /** A name of the registry, or a file. */
  readonly model: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** What it was measured on, in words. */
  readonly name: string;
  readonly times: MachineTimes;
  readonly machine: Machine;
}

/**
 * @param lengths of requests; default: they are drawn as the profile's were. Of a model of the registry these are of any
 * length then: the profile has only the least and most of some of them.
 * @throws UsageError naming the file when it is not what `shoal profile --out` saves
 */
export function machineProfile(file: string, lengths?: string): MachineProfile {
  const label = `Profile ${shorten(file)}`;
  const text = readText(file);
  const value = parseJson(text, label);
  const saved = checkedBy(SCHEMA, value, label);
  const tablesNs = profileIn({ text, value }, label);
  const { model, options = {}, machine, workers, host, tokens } = saved;
  const { stretches } = saved;
  if (stretches.some(({ speed }) => speed.length !== workers)) {
    throw new UsageError(
      `${label}: "stretches" have no speed of each of ${workers} workers`,
    );
  }
  const { taskNs, turnNs, requestNs } = host;
  const isAnyLength = lengths === undefined && !isFile(model);
  const times = {
    ...{ tablesNs, taskNs },
    ...(tokens && {
      tokens: { ...tokens, ...(isAnyLength && { least: 0, most: Infinity }) },
    }),
  };
  return {
    ...{ file, model, options, times, name: machine },
    machine: {
      cost: new ProfiledCost(times),
      ...{ workers, requestNs, recorded: new RecordedTime(stretches) },
      submitNs: (rows) =>
        Math.max(
          0,
          Math.round(onCurve(turnNs, rows) - onCurve(taskNs, rows)),
        ),
    },
  };
}
