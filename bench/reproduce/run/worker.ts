/** A thread that runs experiments, one after the other. */
import type { Context, Json } from "../experiment.ts";
import type { Paper } from "../registry.ts";
import type { Order, Report } from "./messages.ts";
import { PointCache } from "./point_cache.ts";
import { Sources } from "./sources.ts";

const scope = globalThis as unknown as
  & Pick<Worker, "postMessage">
  & { onmessage: ((event: MessageEvent<Order>) => void) | null };

function tell(report: Report): void {
  scope.postMessage(report);
}

async function run(order: Order): Promise<Report> {
  const { registry, root, folder, paper, id, cache, fresh, ...settings } =
    order;
  const { PAPERS } = await import(registry) as { PAPERS: readonly Paper[] };
  const experiment = PAPERS.flatMap(({ experiments }) => experiments)
    .find((one) => one.id === id);
  if (experiment === undefined) throw new Error(`No experiment ${id}`);
  const sources = new Sources(root);
  const points = new PointCache({
    folder: cache,
    sources,
    file: sources.fileOf(id, `${folder}/${paper}`),
    fresh,
  });
  const context: Context = {
    ...settings,
    point: <T extends Json>(
      key: Readonly<Record<string, Json>>,
      compute: () => T | Promise<T>,
    ) =>
      points.point(
        key,
        compute,
        () => tell({ kind: "computing", key: inShort(key) }),
      ) as Promise<T>,
  };
  return { kind: "done", outcome: await experiment.run(context) };
}

/** A point's key for a line of progress. */
function inShort(key: Readonly<Record<string, Json>>): string {
  return Object.entries(key).map(([name, value]) =>
    typeof value === "string" ? value : `${name} ${JSON.stringify(value)}`
  ).join(", ");
}

scope.onmessage = ({ data }) => {
  run(data).catch((error): Report => ({
    kind: "failed",
    error: error instanceof Error ? error.stack ?? error.message : `${error}`,
  })).then(tell);
};
