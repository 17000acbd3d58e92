import { bucketed } from "./baselines/bucketed.ts";
import { cellular } from "./cellular_batching/cellular.ts";
import { dvabatch } from "./dvabatch/dvabatch.ts";
import { eEbird } from "./e2bird/e_ebird.ts";
import { graph } from "./baselines/graph_batching.ts";
import { late } from "./late_batching/late.ts";
import { lazy, oracle } from "./lazybatching/lazy.ts";
import { merged } from "./baselines/merged.ts";
import { nEbird } from "./e2bird/n_ebird.ts";
import type { Policy } from "./policy.ts";
import { serial } from "./baselines/serial.ts";

export interface PolicyEntry {
  /** @throws TypeError or RangeError on an option that the policy does not have or cannot take */
  build(options?: Record<string, unknown>): Policy;
}

/** Every policy by name: one line adds one to the bench, the command line and the property tests. */
export const POLICIES: Readonly<Record<string, PolicyEntry>> = {
  serial: { build: serial },
  graph: { build: graph },
  bucketed: { build: bucketed },
  merged: { build: merged },
  cellular: { build: cellular },
  late: { build: late },
  lazy: { build: lazy },
  oracle: { build: oracle },
  dvabatch: { build: dvabatch },
  "n-ebird": { build: nEbird },
  "e-ebird": { build: eEbird },
};
