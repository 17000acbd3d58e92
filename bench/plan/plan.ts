/**
 * What plans promise beside what this machine carries: profiles are measured, plans made with one part of each trace, and
 * that part is replayed over real tensors at rates around the promised one.
 *
 * Run: deno task bench:plan TRACE.csv... [--model lstm,seq2seq] [--workers N] [--slo-ms MS] [--policy NAMES]
 */
import { basename } from "node:path";
import { makeFolder } from "../../src/cli/files.ts";
import {
  integerOption,
  namesOption,
  numberOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { measuredPlan } from "../../src/cli/planning/measured_plan.ts";
import { bestOf, planned } from "../../src/cli/planning/planned.ts";
import { planSettings } from "../../src/cli/planning/plan_settings.ts";
import {
  print,
  progress,
  stdoutColor,
  UsageError,
} from "../../src/cli/terminal.ts";
import { MODELS } from "../../src/models/registry.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { formatNumber } from "../../src/report/format.ts";
import { renderTable } from "../../src/report/table.ts";
import { keptProfile } from "../kept_profile.ts";

const NAME = "bench:plan";

const HELP = `${NAME} TRACE.csv... [options]

Profiles models, plans for each trace with one part of it, and measures how much of that part this machine's workers
carry; beside it what the plan's choice carries of the next part, on virtual time.

  --model NAMES     ${Object.keys(MODELS).join(", ")}
                    (default lstm)
  --slo-ms MS       within which requests are to be done (default 20)
  --workers N       worker threads (default 1)
  --policy NAMES    that plans choose among (default: all)
  --requests N      of each part of a trace, at most (default 1500)
  --profiles DIR    where profiles are, and are saved that are not there (default build/plan)
  --json            prints everything as JSON`;

/** What came of one model and trace. */
interface Row {
  readonly model: string;
  readonly trace: string;
  readonly policy: string;
  readonly plannedPerS: number;
  /** Of the part that was held back, on virtual time. */
  readonly heldBackPerS: number | undefined;
  readonly measuredPerS: number | undefined;
  readonly runs: readonly { readonly perS: number; readonly inTime: number }[];
}

const settings = taskSettings({
  ...{ name: NAME, help: HELP, positionalsMax: Infinity },
  options: {
    model: { type: "string", default: "lstm" },
    "slo-ms": { type: "string" },
    workers: { type: "string" },
    policy: { type: "string" },
    requests: { type: "string" },
    profiles: { type: "string", default: "build/plan" },
    json: { type: "boolean", default: false },
  },
}, ({ values, positionals }) => {
  if (positionals.length === 0) throw new UsageError("TRACE.csv is missing");
  return {
    traces: positionals,
    models: namesOption("model", values.model, Object.keys(MODELS)),
    sloMs: numberOption("slo-ms", values["slo-ms"], 20, 1e9),
    workers: integerOption("workers", values.workers, 1, { min: 1, max: 64 }),
    policies: namesOption("policy", values.policy, Object.keys(POLICIES)),
    requests: integerOption("requests", values.requests, 1500, {
      min: 100,
      max: 1e6,
    }),
    ...{ folder: values.profiles, json: values.json },
  };
});

makeFolder(settings.folder);
const rows: Row[] = [];
for (const model of settings.models) {
  const file = `${settings.folder}/${model}-${settings.workers}.json`;
  const workers = ["--workers", `${settings.workers}`];
  await keptProfile(file, [model, ...workers]);
  for (const trace of settings.traces) {
    progress(`${model}, ${trace}`);
    const options = await planSettings(NAME, [file], {
      trace,
      "slo-ms": `${settings.sloMs}`,
      requests: `${settings.requests}`,
      policy: settings.policies.join(),
    });
    const best = bestOf(await planned(options), options.precision);
    const { perS, runs } = await measuredPlan(
      NAME,
      best,
      options.made,
      options,
      {},
    );
    progress(
      `planned ${formatNumber(best.perS)}/s, measured ${
        formatNumber(perS ?? null)
      }/s`,
    );
    rows.push({
      ...{ model, trace: basename(trace), policy: best.choice.policy },
      ...{ plannedPerS: best.perS, heldBackPerS: best.heldBack.perS },
      ...{ measuredPerS: perS, runs },
    });
  }
}

const off = (predicted: number | undefined, measured: number | undefined) =>
  predicted === undefined || measured === undefined
    ? formatNumber(null)
    : `${((predicted / measured - 1) * 100).toFixed(1)} %`;

if (settings.json) print(JSON.stringify(rows));
else {
  print(renderTable({
    columns: [
      ...["model", "trace", "policy"].map((title) => ({ title })),
      ...["planned/s", "measured/s", "off", "held back/s", "off"].map((
        title,
      ) => ({ title, align: "right" as const })),
    ],
    keys: 2,
    rows: rows.map((row) =>
      [
        ...[row.model, row.trace, row.policy, formatNumber(row.plannedPerS)],
        formatNumber(row.measuredPerS ?? null),
        off(row.plannedPerS, row.measuredPerS),
        formatNumber(row.heldBackPerS ?? null),
        off(row.plannedPerS, row.heldBackPerS),
      ].map((text) => ({ text }))
    ),
  }, { color: stdoutColor() }));
}
