import type { Wire, WireAnswer } from "../../src/load/wire.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** What a server that does not exist makes of its nth request. */
export type Served = Partial<Omit<WireAnswer, "endNs">> & {
  /** From when it is sent. */
  readonly tookNs: number;
};

/** A server on virtual time. */
export function fakeWire(
  clock: VirtualClock,
  serve: (nth: number, atNs: number) => Served,
): Wire & { readonly sent: number[] } {
  const sent: number[] = [];
  return {
    sent,
    send(_request, { abandon } = {}) {
      const sentNs = clock.nowNs();
      const { tookNs, ...answer } = serve(sent.length, sentNs);
      sent.push(sentNs);
      return new Promise((resolve) => {
        const ended = (error?: string) =>
          resolve({
            ...{ status: 200, bytes: 2, eventsNs: [], firstNs: sentNs },
            ...(error === undefined ? answer : { status: 0, error }),
            endNs: clock.nowNs(),
          });
        const takeBack = clock.at(sentNs + tookNs, () => ended());
        abandon?.addEventListener("abort", () => {
          takeBack();
          ended("abandoned");
        });
      });
    },
    close() {},
  };
}
