/**
 * The end of a server that is told to end: it takes no more requests and says so where it is asked whether it is ready,
 * finishes those that it has, and lets go of its port; the time for that is limited, and a second signal waits for
 * nothing.
 */
import process from "node:process";
import type { Listener } from "../../server/runtime/listener.ts";
import type { Server } from "../../server/server.ts";
import { EXIT } from "../terminal.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** What ends. */
export interface Ending {
  readonly server: Pick<Server, "close">;
  readonly listener: Pick<Listener, "close">;
  /** How long requests that were taken may take still. */
  readonly graceMs: number;
  /** Told of what happens. */
  readonly tell: (text: string) => void;
}

/** Resolves when a signal has come and everything has ended, with the exit code: 1 when something was cut off. */
export async function endOnSignal(
  { server, listener, graceMs, tell }: Ending,
): Promise<number> {
  const signals = signalQueue();
  try {
    await signals.next();
    tell("ending: no more requests are taken");
    let timer: ReturnType<typeof setTimeout> | undefined;
    const cut = Promise.race([
      signals.next(),
      new Promise<string>((resolve) =>
        timer = setTimeout(() => resolve(`${graceMs} ms are over`), graceMs)
      ),
    ]);
    // The port stays open while requests finish: whoever looks whether the server is ready has to be told.
    const done = server.close().then(() => listener.close(graceMs));
    const why = await Promise.race([done, cut]);
    clearTimeout(timer);
    if (why === undefined) return EXIT.success;
    tell(`${why}: what is left is cut off`);
    return EXIT.failure;
  } finally {
    signals.end();
  }
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
