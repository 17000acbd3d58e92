/** One rule or device property at a time: what makes the difference to graph batching. */
import type { Context, TableData } from "../experiment.ts";
import type { Device } from "./devices.ts";
import { HEAVY_RATE, titleOf } from "./evaluation.ts";
import type { NetworkName } from "./networks.ts";
import { graphB, LAZYB, ORACLE, type PolicySpec } from "./policies.ts";
import { averageOf, runsOf } from "./runs.ts";

interface Variant {
  readonly policy: PolicySpec;
  readonly slaMs?: number;
  readonly device?: Pick<Device, "mode" | "flat">;
}

const UNLIMITED_MS = 1e9;
const NOW = graphB(0);
const NARROW = graphB(5);

/** Rules of the policy, each alone in another reading or switched off. */
const RULES: Readonly<Record<string, Variant>> = {
  "LazyB": { policy: LAZYB },
  "slack never refuses": { policy: LAZYB, slaMs: UNLIMITED_MS },
  "slack by exact curves (Oracle)": { policy: ORACLE },
  "Eq. 2 of what waits while nothing runs": {
    policy: { kind: "lazy", options: { emptyTable: "check" } },
  },
  "Eq. 2 to the letter: no time charged": {
    policy: { kind: "lazy", options: { elapsedTime: "ignore" } },
  },
  "both of these": {
    policy: {
      kind: "lazy",
      options: { emptyTable: "check", elapsedTime: "ignore" },
    },
  },
  "who is lost limits nobody": {
    policy: { kind: "lazy", options: { negativeSlack: "ignore" } },
  },
  "no nested preemption": {
    policy: { kind: "lazy", options: { nestedPreemption: false } },
  },
  "no preemption: GraphB(0)": { policy: NOW },
  "GraphB(5)": { policy: NARROW },
};

/** Devices that gain nothing, or more, by batching. */
const DEVICES: Readonly<Record<string, Variant>> = {
  "flat device: LazyB": { policy: LAZYB, device: { flat: true } },
  "flat device: GraphB(0)": { policy: NOW, device: { flat: true } },
  "flat device: GraphB(5)": { policy: NARROW, device: { flat: true } },
  "causal folds: LazyB": { policy: LAZYB, device: { mode: "causal" } },
  "causal folds: GraphB(0)": { policy: NOW, device: { mode: "causal" } },
  "causal folds: GraphB(5)": { policy: NARROW, device: { mode: "causal" } },
};

const RATES = [500, HEAVY_RATE, 2000] as const;

export interface RuleOptions {
  /** Also on the devices above; static networks only. */
  readonly devices?: boolean;
}

/** Mean latency and device time per request, a row for each variant; one run per point. */
export async function ruleTable(
  context: Context,
  network: NetworkName,
  device: Device,
  { devices = false }: RuleOptions = {},
): Promise<TableData> {
  const rates = context.quick ? [HEAVY_RATE] : RATES;
  const variants = Object.entries(devices ? { ...RULES, ...DEVICES } : RULES);
  const rows: string[][] = [];
  for (const [name, variant] of variants) {
    const row = [name];
    for (const ratePerS of rates) {
      const runs = await runsOf(context, {
        network,
        device: { ...device, ...variant.device },
        policy: variant.policy,
        ratePerS,
        ...(variant.slaMs !== undefined && { slaMs: variant.slaMs }),
      }, 1);
      const figure = (of: Parameters<typeof averageOf>[1]) =>
        averageOf(runs, of);
      row.push(
        `${figure(({ meanMs }) => meanMs).toFixed(1)} ms, ${
          figure(({ workUs }) => workUs).toFixed(0)
        } us`,
      );
    }
    rows.push(row);
  }
  return {
    title: `One rule at a time: ${titleOf(network, device)}`,
    columns: [
      "mean latency, device time per request",
      ...rates.map((rate) => `${rate}/s`),
    ],
    rows,
  };
}
