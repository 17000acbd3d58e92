/** A thread that plays all that an order asks for. */
import type { Json } from "../reproduce/experiment.ts";
import { PointCache, type PointKey } from "../reproduce/run/point_cache.ts";
import { Sources } from "../reproduce/run/sources.ts";
import { Ground, type Point } from "./match.ts";
import type { Entry } from "./match.ts";
import type { Order, Report } from "./messages.ts";

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
    sources: new Sources(order.root),
    file: "bench/arena/match.ts",
  });
  let computed = 0;
  const point: Point = <T extends Json>(key: PointKey, compute: () => T) =>
    points.point(key, compute, () => computed++) as Promise<T>;
  const ground = new Ground({ device, workload }, measured, options, point);
  const facts = await ground.facts();
  const policies = order.policies.filter((name) => !ground.obstacle(name));
  for (const scenario of order.scenarios) {
    for (const target of order.targets) {
      computed = 0;
      const entries: Entry[] = [];
      for (const policy of policies) {
        entries.push(await ground.match(policy, scenario, target));
      }
      tell({
        kind: "cell",
        cell: { scenario, target, ...facts, entries },
        computed,
      });
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
