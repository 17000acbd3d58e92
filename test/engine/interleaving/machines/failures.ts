/** Two workers fail a row of one request each, at once: the engine hears of one of them, whole, and why. */
import { load, store, write } from "../access.ts";
import { type Body, ensure, then } from "../automaton.ts";
import type { Machine } from "../machine.ts";
import {
  failureOf,
  header,
  headerWords,
  isVoid,
  reason,
  reasonOf,
  reportFailure,
} from "./header_words.ts";

const S = "slot";

/** Node number n fails in call number n: a pair of different numbers is of nobody. */
export function failures(
  { fault }: {
    readonly fault?:
      | "call and node are two words"
      | "reasons are written by all"
      | "reason after the failure";
  } = {},
): Machine {
  const twoWords = fault === "call and node are two words";

  function* fails(node: number): Body {
    if (!(yield* isVoid(S))) {
      if (twoWords) {
        yield store("failedCall", node);
        yield store("failed", node);
      } else if (fault === "reasons are written by all") {
        yield store(header(S).reasonOf, node);
        yield write(reason(S), node);
        yield* reportFailure(S, node);
      } else if (fault === "reason after the failure") {
        yield* reportFailure(S, node);
        yield* reportFailure(S, node, { node, text: node });
      } else yield* reportFailure(S, node, { node, text: node });
    }
    yield store(`completed ${node}`, 1);
    return undefined;
  }

  function* engine(heard: number, settled: number): Body {
    for (const node of [1, 2]) {
      if ((settled & node) !== 0) continue;
      if ((yield load(`completed ${node}`)) === 0) continue;
      const failed = twoWords ? yield load("failed") : yield* failureOf(S);
      const call = twoWords ? yield load("failedCall") : failed;
      ensure(failed !== 0, "a row that failed, or was left out, is not done");
      ensure(failed === call, `node ${failed} failed in call ${call}`);
      ensure(heard === 0 || heard === failed, "one failure ends a request");
      const said = twoWords ? 0 : yield* reasonOf(S, failed);
      ensure(said === 0 || said === failed, `node ${failed} said ${said}`);
      settled |= node;
      heard = failed;
    }
    return settled === 3 ? undefined : then(engine, heard, settled);
  }

  const { mixed, plain } = headerWords(S, 0);
  return {
    words: {
      atomic: {
        "completed 1": 0,
        "completed 2": 0,
        ...(twoWords && { failed: 0, failedCall: 0 }),
      },
      mixed,
      plain,
    },
    processes: {
      "worker 1": { start: then(fails, 1) },
      "worker 2": { start: then(fails, 2) },
      engine: { start: then(engine, 0, 0) },
    },
  };
}
