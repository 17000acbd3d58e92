/** A thread that plays all that an order asks for. */
import type { Json } from "../reproduce/experiment.ts";
import { PointCache, type PointKey } from "../reproduce/run/point_cache.ts";
import { PLAYING, policyCode, sourcesWithoutPolicies } from "./code.ts";
import { Ground, type Point } from "./match.ts";
import type { Entry } from "./match.ts";
import type { Decisions, Order, Report } from "./messages.ts";
import { told } from "./standing.ts";

const scope = globalThis as unknown as
  & Pick<Worker, "postMessage">
  & { onmessage: ((event: MessageEvent<Order>) => void) | null };

function tell(report: Report): void {
  scope.postMessage(report);
}

async function play(order: Order): Promise<void> {
  const { device, workload, measured, options } = order;
  const points = new PointCache({
    folder: order.cache,
    sources: sourcesWithoutPolicies(order.root),
    file: PLAYING,
  });
  let computed = 0;
  const point: Point = <T extends Json>(key: PointKey, compute: () => T) =>
    points.point(key, compute, () => computed++) as Promise<T>;
  const ground = new Ground(
    { device, workload },
    measured,
    options,
    point,
    policyCode(order.root),
  );
  const policies = order.policies.filter((name) => !ground.obstacle(name));
  if (policies.length === 0) {
    const unserved = order.policies.map((name) =>
      `${name}: ${ground.obstacle(name)}`
    ).join("; ");
    return tell({ kind: "done", unserved });
  }
  const facts = await ground.facts();
  for (const scenario of order.scenarios) {
    if (Date.now() >= order.untilMs) break;
    for (const target of order.targets) {
      computed = 0;
      const entries: Entry[] = [];
      for (const policy of policies) {
        entries.push(await ground.match(policy, scenario, target));
      }
      const cell = { scenario, target, ...facts, entries };
      const logs: Decisions[] = [];
      for (const { policy, entry } of told(cell)) {
        const lines = await ground.decisions(entry, scenario, target);
        logs.push({ policy, lines });
      }
      tell({ kind: "cell", cell, logs, computed });
    }
  }
  tell({ kind: "done" });
}

scope.onmessage = ({ data }) => {
  play(data).catch((error) =>
    tell({
      kind: "failed",
      error: error instanceof Error ? error.stack ?? error.message : `${error}`,
    })
  );
};
