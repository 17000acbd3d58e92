/** `shoal tune`: writes the settings that a plan found into the file that `shoal serve` reads. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { nsToMs } from "../base/units.ts";
import { POLICIES } from "../policy/registry.ts";
import { checkedBy } from "./checked_by.ts";
import {
  checkApart,
  checkWritable,
  makeFolder,
  parseJson,
  readText,
  writeText,
} from "./files.ts";
import { readOptions, see } from "./options.ts";
import { planText } from "./planning/plan_text.ts";
import { bestOf, type MachinePlan, planned } from "./planning/planned.ts";
import {
  PLAN_FILE_HELP,
  PLAN_HELP,
  PLAN_OPTIONS,
  planSettings,
} from "./planning/plan_settings.ts";
import { SERVER_SETTINGS } from "./serve/serve_settings.ts";
import { print, progress, stdoutColor, UsageError } from "./terminal.ts";

const NAME = "shoal tune";

const FILE = "shoal.json";

const HELP =
  `${NAME} PROFILE... --trace FILE.csv --slo-ms MS --out DIR [options]

Plans as shoal plan does, and writes what it found into DIR/${FILE}, which shoal serve DIR reads: target, workers, policy
and its options. What else there is in the file stays.

${PLAN_HELP}
  --out DIR         the folder that is served
  --json            prints what was written

${PLAN_FILE_HELP}`;

export async function tune(args: string[]): Promise<number> {
  const given = readOptions({
    ...{ name: NAME, help: HELP, positionalsMax: Infinity },
    options: { ...PLAN_OPTIONS, out: { type: "string" } },
  }, args);
  if (given === undefined) return 0;
  const { values, positionals } = given;
  const { out } = values;
  if (out === undefined) {
    throw new UsageError(`--out DIR is missing${see(NAME)}`);
  }
  const path = join(out, FILE);
  // What is in the way is said before anything is computed.
  checkApart(path, [...positionals, values.trace]);
  const own = existsSync(path)
    ? checkedBy(z.looseObject({}), parseJson(readText(path), path), path)
    : {};
  // All but what is written anew.
  const kept = {
    ...own,
    ...{ slo_ms: undefined, workers: undefined, policy: undefined },
  };
  checkedBy(SERVER_SETTINGS, kept, path);
  const settings = await planSettings(NAME, positionals, values);
  makeFolder(out);
  checkWritable(path);
  const all = await planned(settings);
  const best = bestOf(all.plans, settings.precision);
  const written = { ...own, ...tuned(best, settings.target.sloNs) };
  const text = `${JSON.stringify(written, undefined, 2)}\n`;
  writeText(path, text);
  progress(`saved: ${path}`);
  print(
    values.json ? text : planText(all, best, settings, stdoutColor()),
  );
  return 0;
}

/** A plan as a server's settings; policies that know a target have it of `slo_ms`. */
export function tuned(
  { choice: { policy, options }, profile: { machine } }: MachinePlan,
  sloNs: number,
): Record<string, unknown> {
  const { slaNs: _, batchSizeMax, ...rest } = options;
  const isLimited = "batchSizeMax" in POLICIES[policy].options;
  return {
    slo_ms: nsToMs(sloNs),
    workers: machine.workers,
    ...(isLimited && { max_batch_size: batchSizeMax }),
    policy: { name: policy, options: rest },
  };
}
