/**
 * The end of a server that is told to end: it takes no more requests and says so where it is asked whether it is ready,
 * finishes those that it has, and lets go of its port; the time for that is limited, and a second signal waits for
 * nothing. SIGTERM may leave it a time before that in which it is not ready, and serves: who sends it requests hears of
 * its end some time after that has begun.
 */
import process from "node:process";
import type { Listener } from "../../server/runtime/listener.ts";
import type { Server } from "../../server/server.ts";
import { EXIT } from "../terminal.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** What ends. */
export interface Ending {
  readonly server: Pick<Server, "leave" | "close">;
  readonly listener: Pick<Listener, "close">;
  /** How long it is a lame duck after SIGTERM: not ready, and serving. Another signal ends that. */
  readonly lameDuckMs: number;
  /** How long requests that were taken may take still. */
  readonly graceMs: number;
  /** Told of what happens. */
  readonly tell: (text: string) => void;
}

/** Resolves when a signal has come and everything has ended, with the exit code: 1 when something was cut off. */
export async function endOnSignal(
  { server, listener, lameDuckMs, graceMs, tell }: Ending,
): Promise<number> {
  const signals = signalQueue();
  try {
    const signal = await signals.next();
    // One for all waits: what waited in vain would take the signal of who waits next.
    let next = signals.next();
    if (signal === "SIGTERM" && lameDuckMs > 0) {
      server.leave();
      tell(`leaving: not ready any more, serves for another ${lameDuckMs} ms`);
      const time = timeout(lameDuckMs);
      const another = await Promise.race([next, time.over]);
      time.clear();
      if (another !== undefined) next = signals.next();
    }
    tell("ending: no more requests are taken");
    const grace = timeout(graceMs);
    const cut = Promise.race([
      next,
      grace.over.then(() => `${graceMs} ms are over`),
    ]);
    // The port stays open while requests finish: whoever looks whether the server is ready has to be told.
    const done = server.close().then(() => listener.close(graceMs));
    const why = await Promise.race([done, cut]);
    grace.clear();
    if (why === undefined) return EXIT.success;
    tell(`${why}: what is left is cut off`);
    return EXIT.failure;
  } finally {
    signals.end();
  }
}

function timeout(ms: number) {
  let timer: ReturnType<typeof setTimeout>;
  const over = new Promise<undefined>((resolve) =>
    timer = setTimeout(() => resolve(undefined), ms)
  );
  return { over, clear: () => clearTimeout(timer) };
}

/** Signals as they come, each once. */
function signalQueue() {
  const waiting: ((signal: string) => void)[] = [];
  const handlers = SIGNALS.map((signal) => () => waiting.shift()?.(signal));
  SIGNALS.forEach((signal, i) => process.on(signal, handlers[i]));
  return {
    next: () => new Promise<string>((resolve) => waiting.push(resolve)),
    end: () => SIGNALS.forEach((signal, i) => process.off(signal, handlers[i])),
  };
}
