/**
 * The server of `bench:overload`, in a process of its own: an encoder of texts, admission by cost or everything let in.
 * Says where it listens on its first line; answers each line that it is sent with figures since the last one.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { bert, cellular } from "../../src/mod.ts";
import {
  CostAdmission,
  createServer,
  EngineHost,
  listen,
  Monitor,
  servedTokens,
} from "../../src/server.ts";
import { collectGarbage } from "../soak/collect_garbage.ts";
import { LogHistogram } from "../soak/histogram.ts";
import { watchLoop } from "../soak/loop_delay.ts";

/** What it is started with. */
export interface OverloadSettings {
  readonly sloMs: number;
  /** Whether there is admission; otherwise everything waits in the engine. */
  readonly admits: boolean;
  readonly layers: number;
  readonly hidden: number;
  readonly workers: number;
}

/** Figures of its process. */
export interface OverloadFigures {
  /** Delay of the event loop. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
  readonly rssBytes: number;
}

if (import.meta.main) {
  const { sloMs, admits, layers, hidden, workers }: OverloadSettings = JSON
    .parse(process.argv[2]);
  const model = bert({ layers, hidden, heads: hidden / 64, vocabulary: 1000 });
  const monitor = new Monitor({ sloMs });
  const host = await EngineHost.create({
    models: [servedTokens(model, { name: "encoder" })],
    policy: () => cellular({ batchSizeMax: 32 }),
    engine: { workers, queueMax: 1_000_000 },
    observers: monitor.observers,
    ...(admits && {
      admission: new CostAdmission({ sloMs, workers, runningMax: 64 }),
    }),
  });
  const server = createServer(host, { monitor });
  const listener = await listen(server, { port: 0 });
  console.log(listener.url);
  let delays = new LogHistogram();
  let stopWatching = watchLoop(delays);
  for await (const _line of createInterface({ input: process.stdin })) {
    stopWatching();
    collectGarbage();
    const figures: OverloadFigures = {
      delayP99Ms: delays.percentile(0.99),
      delayMaxMs: delays.max,
      rssBytes: process.memoryUsage().rss,
    };
    console.log(JSON.stringify(figures));
    delays = new LogHistogram();
    stopWatching = watchLoop(delays);
  }
  stopWatching();
  await listener.close(1000);
  await server.close();
}
