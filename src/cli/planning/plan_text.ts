/** A plan in words and tables. */
import { basename } from "node:path";
import { formatNumber, formatPercentile } from "../../report/format.ts";
import { renderTable } from "../../report/table.ts";
import { wrap } from "../../report/wrap.ts";
import type { Contender } from "../../plan/plan.ts";
import type { MachinePlan, Planned } from "./planned.ts";
import type { PlanSettings } from "./plan_settings.ts";

/** Options without the times that a policy was told. */
export function optionsText(
  options: Readonly<Record<string, unknown>>,
): string {
  return Object.entries(options).map(([name, value]) =>
    name === "profile"
      ? "profile: as measured"
      : `${name}: ${JSON.stringify(value)}`
  ).join(", ");
}

/** The whole of it. */
export function planText(
  { plans, refused }: Planned,
  best: MachinePlan,
  { model, trace, target, made }: PlanSettings,
  color: boolean,
): string {
  const percent = formatPercentile(target.share);
  const slo = `${percent} % within ${target.sloNs / 1e6} ms`;
  const { choice, perS, rangePerS, heldBack, profile, contenders } = best;
  const carried = heldBack.perS === undefined
    ? heldBack.obstacle === undefined
      ? "it carries no rate of it"
      : "what it carries of it cannot be told"
    : `it carries ${formatNumber(heldBack.perS)}/s of it, ` +
      `so that the plan is off by ${
        formatNumber(100 * Math.abs(perS / heldBack.perS - 1))
      } %`;
  const text = [
    `${model.name} on ${profile.name}: ${slo}, arrivals as in ${
      basename(trace)
    } (${made.seconds.length} requests)`,
    `Carries ${formatNumber(perS)} requests/s (${
      rangePerS.map(formatNumber).join(" to ")
    }, as the machine is slow or fast) with ${
      workersText(profile.machine.workers)
    } under ${choice.policy} (${
      optionsText(choice.options)
    }). A request alone takes ${formatNumber(best.aloneNs / 1e6)} ms.`,
    `On as many requests that were held back: ${
      formatNumber(100 * heldBack.inTime)
    } % in time at this rate; ${carried}.`,
  ].map((line) => wrap(line, "  ")).join("\n");
  return [
    text,
    renderTable({
      columns: [
        { title: "profile" },
        { title: "workers", align: "right" },
        { title: "policy" },
        { title: "carries/s", align: "right" },
        ...best.otherwise.map(({ what }) => ({
          title: what,
          align: "right" as const,
        })),
      ],
      rows: plans.map((plan) =>
        [
          basename(plan.profile.file),
          `${plan.profile.machine.workers}`,
          plan.choice.policy,
          formatNumber(plan.perS),
          ...plan.otherwise.map(({ perS }) => formatNumber(perS ?? null)),
        ].map((text) => ({ text }))
      ),
    }, { color }),
    ...refused.map(({ profile: { file }, why }) =>
      wrap(`${basename(file)}: ${why}.`, "  ")
    ),
    ...untoldText(plans),
    wrap(triedText(contenders), "  "),
  ].join("\n");
}

/** Why there is no figure, where it cannot be told. */
function untoldText(plans: readonly MachinePlan[]): string[] {
  return plans.flatMap(({ profile, heldBack, otherwise }) =>
    [{ what: "what was held back", ...heldBack }, ...otherwise].flatMap((
      { what, obstacle },
    ) =>
      obstacle === undefined
        ? []
        : [wrap(`${basename(profile.file)}, ${what}: ${obstacle}.`, "  ")]
    )
  );
}

/** Who did not carry more than those before, and who took no part. */
function triedText(contenders: readonly Contender[]): string {
  const names = (
    of: readonly Contender[],
  ) => [...new Set(of.map(({ policy }) => policy))];
  const could = contenders.filter(({ obstacle }) => obstacle === undefined);
  const ahead = could.filter(({ perS }) => perS !== undefined);
  const behind = names(could).filter((name) => !names(ahead).includes(name));
  const without = contenders.filter(({ policy, obstacle }) =>
    obstacle !== undefined && !names(could).includes(policy)
  );
  return [
    `Tried with ${could.length} settings, each ahead of those before: ${
      ahead.map(({ policy, perS }) => `${policy} ${formatNumber(perS!)}/s`)
        .join(", ")
    }.`,
    ...(behind.length > 0 ? [`Behind: ${behind.join(", ")}.`] : []),
    ...Array.from(
      new Map(without.map(({ policy, obstacle }) => [policy, obstacle])),
      ([policy, obstacle]) => `Without ${policy}: ${obstacle}.`,
    ),
  ].join(" ");
}

function workersText(workers: number): string {
  return workers === 1 ? "1 worker" : `${workers} workers`;
}
