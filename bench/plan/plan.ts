/**
 * What plans promise beside what this machine carries: profiles are measured, plans made with one part of each trace, and
 * that part is replayed over real tensors at rates around the promised one, of all traces in turns: seconds of a machine
 * differ.
 *
 * Run: deno task bench:plan TRACE.csv... [--model lstm,seq2seq] [--workers N] [--slo-ms MS] [--policy NAMES]
 */
import { basename } from "node:path";
import { ascending, percentile } from "../../src/base/statistics.ts";
import { makeFolder } from "../../src/cli/files.ts";
import {
  integerOption,
  namesOption,
  numberOption,
  taskSettings,
} from "../../src/cli/options.ts";
import type { MeasuredLoad } from "../../src/cli/planning/measured.ts";
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
  --rounds N        that what a trace carries is measured in; the median counts (default 3)
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
  /** In eight of nine places of what was recorded of the machine, and in two. */
  readonly rangePerS: readonly [number, number];
  /** Median of the rounds. */
  readonly measuredPerS: number;
  readonly rounds: readonly MeasuredLoad[];
}

const settings = taskSettings({
  ...{ name: NAME, help: HELP, positionalsMax: Infinity },
  options: {
    model: { type: "string", default: "lstm" },
    "slo-ms": { type: "string" },
    workers: { type: "string" },
    policy: { type: "string" },
    requests: { type: "string" },
    rounds: { type: "string" },
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
    rounds: integerOption("rounds", values.rounds, 3, { min: 1, max: 100 }),
    ...{ folder: values.profiles, json: values.json },
  };
});

makeFolder(settings.folder);
const rows: Row[] = [];
for (const model of settings.models) {
  const file = `${settings.folder}/${model}-${settings.workers}.json`;
  const workers = ["--workers", `${settings.workers}`];
  await keptProfile(file, [model, ...workers]);
  const subjects = [];
  for (const trace of settings.traces) {
    progress(`${model}, ${trace}`);
    const options = await planSettings(NAME, [file], {
      trace,
      "slo-ms": `${settings.sloMs}`,
      requests: `${settings.requests}`,
      policy: settings.policies.join(),
    });
    const { plans } = await planned(options);
    const best = bestOf(plans, options.precision);
    progress(`planned ${formatNumber(best.perS)}/s`);
    const rounds: MeasuredLoad[] = [];
    subjects.push({ trace, options, best, rounds });
  }
  for (let round = 0; round < settings.rounds; round++) {
    for (const { trace, options, best, rounds } of subjects) {
      progress(`${model}, ${trace}, round ${round + 1}`);
      const measured = await measuredPlan(
        NAME,
        best,
        options.made,
        options,
        {},
      );
      progress(`measured ${formatNumber(measured.perS ?? null)}/s`);
      if (measured.obstacle === undefined) rounds.push(measured);
      else progress(measured.obstacle);
    }
  }
  for (const { trace, best, rounds } of subjects) {
    const { perS, rangePerS, heldBack, choice } = best;
    rows.push({
      ...{ model, trace: basename(trace), policy: choice.policy },
      ...{ plannedPerS: perS, rangePerS, heldBackPerS: heldBack.perS, rounds },
      measuredPerS: percentile(ascending(rounds.map(roundPerS)), 0.5),
    });
  }
}

/** A round in which no rate keeps the target counts as 0. */
function roundPerS({ perS = 0 }: MeasuredLoad): number {
  return perS;
}

const off = (predicted: number | undefined, measured: number | undefined) =>
  predicted === undefined || measured === undefined
    ? formatNumber(null)
    : `${((predicted / measured - 1) * 100).toFixed(1)} %`;
const rangeText = (perS: readonly number[]) =>
  perS.length === 0
    ? formatNumber(null)
    : [Math.min, Math.max].map((end) => formatNumber(end(...perS))).join(
      " to ",
    );

if (settings.json) print(JSON.stringify(rows));
else {
  print(renderTable({
    columns: [
      ...["model", "trace", "policy"].map((title) => ({ title })),
      ...[
        "planned/s",
        "range",
        "measured/s",
        "range",
        "off",
        "held back/s",
        "off",
      ].map((
        title,
      ) => ({ title, align: "right" as const })),
    ],
    keys: 2,
    rows: rows.map((row) =>
      [
        ...[row.model, row.trace, row.policy, formatNumber(row.plannedPerS)],
        rangeText(row.rangePerS),
        formatNumber(row.measuredPerS),
        rangeText(row.rounds.map(roundPerS)),
        off(row.plannedPerS, row.measuredPerS),
        formatNumber(row.heldBackPerS ?? null),
        off(row.plannedPerS, row.heldBackPerS),
      ].map((text) => ({ text }))
    ),
  }, { color: stdoutColor() }));
}
