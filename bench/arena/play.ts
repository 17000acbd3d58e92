/** Plays orders in threads, as many at once as there are jobs. */
import type { Cell, Decisions, Order, Report } from "./messages.ts";

/** How it is done. */
export interface PlayOptions {
  readonly jobs: number;
  /** Hears of every cell, with the number of points that had to be computed for it. */
  onCell(cell: Cell, logs: readonly Decisions[], computed: number): void;
  /** Hears of every order that none of its policies can serve. */
  onUnserved(order: Order, why: string): void;
}

/** @returns what failed, a line each; one order that fails stops no other */
export async function play(
  orders: readonly Order[],
  { jobs, ...heard }: PlayOptions,
): Promise<string[]> {
  const waiting = [...orders];
  const problems: string[] = [];
  await Promise.all(
    Array.from({ length: Math.min(jobs, orders.length) }, async () => {
      for (let order = waiting.shift(); order; order = waiting.shift()) {
        const { device, workload } = order;
        const error = await playOne(order, heard);
        if (error !== undefined) {
          problems.push(`${workload} on ${device}: ${error}`);
        }
      }
    }),
  );
  return problems;
}

/** In a thread of its own, whose memory goes with it. */
function playOne(
  order: Order,
  { onCell, onUnserved }: Omit<PlayOptions, "jobs">,
): Promise<string | undefined> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    type: "module",
  });
  return new Promise<string | undefined>((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<Report>) => {
      if (data.kind === "cell") {
        return onCell(data.cell, data.logs, data.computed);
      }
      if (data.kind === "failed") return resolve(data.error);
      if (data.unserved !== undefined) onUnserved(order, data.unserved);
      resolve(undefined);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      resolve(event.message);
    };
    worker.postMessage(order);
  }).finally(() => worker.terminate());
}
