/**
 * One slot, two requests, one after the other: the first may be cancelled while two workers have its rows.
 * After src/engine/{engine,tensor_store}.ts: admit, abandon, result, release.
 */
import { at, choose, load, read, wait, write } from "../access.ts";
import { type Body, ensure, then } from "../automaton.ts";
import { type Machine, words } from "../machine.ts";
import {
  abandonSlot,
  headerWords,
  isVoid,
  openHeader,
  row,
} from "./header_words.ts";
import { announce, ringWords, signal } from "./ring.ts";

export const SLOT_FAULTS = [
  "released at departure",
  "header not opened",
  "opened after its first task",
  "result read after release",
] as const;

const S = "slot";
const WORKERS = [0, 1];
const REQUESTS = 2;

export function slots(
  { fault }: { readonly fault?: typeof SLOT_FAULTS[number] } = {},
): Machine {
  function* worker(w: number, done: number): Body {
    if (done === REQUESTS) return;
    if ((yield load(at("submitted", w))) === done) {
      yield wait(at("submitted", w), done);
      return then(worker, w, done);
    }
    if (!(yield* isVoid(S))) {
      const input = yield read("input");
      ensure(input === done + 1, `the input is that of request ${done + 1}`);
      yield write(row(S, w), input);
    }
    yield* signal(ringWords(w), "doorbell", done);
    return then(worker, w, done + 1);
  }

  /** Request number `r` takes the slot, and its rows are submitted. */
  function* admit(r: number): Body {
    if (fault === "opened after its first task") {
      yield* announce(at("submitted", 0), r + 1);
    }
    if (fault !== "header not opened") yield* openHeader(S, 0);
    yield write("input", r + 1);
    for (const w of WORKERS) yield* announce(at("submitted", w), r + 1);
    return then(serve, r, 0, 0);
  }

  /** @param settled the workers whose row is */
  function* serve(r: number, settled: number, cancelled: number): Body {
    const mayCancel = r === 0 && cancelled === 0;
    if (mayCancel && (yield choose(2)) === 1) {
      yield* abandonSlot(S);
      if (fault === "released at departure") return then(admit, r + 1);
      return then(serve, r, settled, 1);
    }
    const rung = yield load("doorbell");
    for (const w of WORKERS) {
      if ((yield load(at("completed", w))) > r) settled |= 1 << w;
    }
    if (settled !== 3) {
      yield wait("doorbell", rung);
      return then(serve, r, settled, cancelled);
    }
    if (cancelled === 0) {
      if (fault === "result read after release" && r === 0) {
        yield* openHeader(S, 0);
        yield write("input", 2);
        yield* announce(at("submitted", 0), 2);
      }
      for (const w of WORKERS) {
        const value = yield read(row(S, w));
        ensure(value === r + 1, `row ${w} is that of request ${r + 1}`);
      }
    }
    return r + 1 === REQUESTS ? undefined : then(admit, r + 1);
  }

  const { mixed, plain } = headerWords(S, 0);
  return {
    words: {
      atomic: {
        doorbell: 0,
        ...words("submitted", 2),
        ...words("completed", 2),
        ...words("linger", 2),
      },
      mixed,
      plain: { ...plain, input: 0, ...words(`${S}.row`, 2) },
    },
    processes: {
      "worker 0": { start: then(worker, 0, 0) },
      "worker 1": { start: then(worker, 1, 0) },
      engine: { start: then(admit, 0) },
    },
  };
}
