/** The machines make the accesses that the code makes, in the same order: what they prove is about the code. */
import assert from "node:assert/strict";
import { SLOT_HEADER_BYTES } from "../../../src/graph/slot_plan.ts";
import {
  abandonSlot,
  failureOf,
  isVoid,
  openHeader,
  reasonOf,
  reportFailure,
  SLOT,
  stepOutcome,
  takeStep,
} from "../../../src/engine/tensors/slot_header.ts";
import {
  allowLinger,
  CONTROL,
  openControl,
  ringDoorbell,
  stopWorker,
} from "../../../src/engine/wall/worker_ring.ts";
import type { Body } from "./automaton.ts";
import * as machine from "./machines/header_words.ts";
import { openControl as openControlMachine } from "./machines/recovery.ts";
import {
  allowLinger as allowLingerMachine,
  ringDoorbell as ringDoorbellMachine,
  stopWorker as stopWorkerMachine,
} from "./machines/ring.ts";
import { record, watched } from "./record.ts";
import { solo } from "./solo.ts";

const S = "slot";
const SLOT_ADDRESS = 32;
const STOP_TOKEN = 7;

const HEADER = new Map(
  Object.entries(SLOT).map(([name, word]) =>
    [(SLOT_ADDRESS >>> 2) + word, `${S}.${name}`] as const
  ),
);

/** What is looked at for reasons: their length as well. */
const REASON = new Map([
  ...HEADER,
  [(SLOT_ADDRESS + SLOT_HEADER_BYTES) >>> 2, machine.reason(S)] as const,
]);

/** The same, done by the code and by the machine, over every header. */
function sameOverHeaders<T>(
  real: (words: Int32Array) => T,
  body: () => Body<T>,
  watchedWords: ReadonlyMap<number, string> = HEADER,
): void {
  for (let state = 0; state < 2 * 2 * 4 * 4 * 4; state++) {
    const values = [
      ...[state & 1, state >> 1 & 1, state >> 2 & 3],
      ...[state >> 4 & 3, [0, 1, 5, 6][state >> 6]],
    ];
    const names = [...watchedWords.values()];
    const memory = Object.fromEntries(
      names.map((name, i) => [name, values[i] ?? 0]),
    );
    const words = new Int32Array(128);
    words.set(values, SLOT_ADDRESS >>> 2);
    const lines: string[] = [];
    let result: T;
    record(
      words,
      { names: watchedWords, after: (line) => lines.push(line) },
      () => result = real(watched(words, watchedWords, lines)),
    );
    const expected = solo(body(), { memory });
    assert.deepEqual(lines, expected.lines);
    assert.deepEqual(result!, expected.result);
    assert.deepEqual(
      [...watchedWords.keys()].map((index) => words[index]),
      names.map((name) => memory[name]),
    );
  }
}

Deno.test("slot headers are accessed as the machines say", () => {
  sameOverHeaders(
    (words) => openHeader(words, SLOT_ADDRESS, 3),
    () => machine.openHeader(S, 3),
  );
  sameOverHeaders(
    (words) => abandonSlot(words, SLOT_ADDRESS),
    () => machine.abandonSlot(S),
  );
  sameOverHeaders(
    (words) => isVoid(words, SLOT_ADDRESS),
    () => machine.isVoid(S),
  );
  sameOverHeaders(
    (words) => reportFailure(words, SLOT_ADDRESS, { node: 4, call: 1 }),
    () => machine.reportFailure(S, 2 << 24 | 5),
  );
  sameOverHeaders(
    (words) =>
      reportFailure(words, SLOT_ADDRESS, { node: 4, call: 1 }, "too far"),
    () => machine.reportFailure(S, 2 << 24 | 5, { node: 5, text: 7 }),
    REASON,
  );
  sameOverHeaders(
    (words) => reasonOf(words, SLOT_ADDRESS, 4)?.length ?? 0,
    () => machine.reasonOf(S, 5),
    REASON,
  );
  sameOverHeaders(
    (words) => failureOf(words, SLOT_ADDRESS) !== undefined,
    function* () {
      return (yield* machine.failureOf(S)) !== 0;
    },
  );
  for (let step = 1; step <= 4; step++) {
    sameOverHeaders(
      (words) =>
        ["done", "last", "void"].indexOf(
          stepOutcome(words, SLOT_ADDRESS, step),
        ),
      () => machine.stepOutcome(S, step),
    );
    for (const token of [0, STOP_TOKEN]) {
      sameOverHeaders(
        (words) =>
          takeStep(words, SLOT_ADDRESS, {
            step,
            token,
            stopToken: STOP_TOKEN,
          }),
        () => machine.takeStep(S, step, token === STOP_TOKEN),
      );
    }
  }
});

Deno.test("control blocks are opened, stopped and rung as the machines say", () => {
  const control = 64;
  const names = new Map(
    Object.entries(CONTROL).map(([name, word]) =>
      [(control >>> 2) + word, name] as const
    ),
  );
  const same = (real: (words: Int32Array) => void, body: Body<void>) => {
    const words = new Int32Array(32);
    assert.deepEqual(
      record(words, { names }, () => real(words)),
      solo(body, { memory: {} }).lines,
    );
  };
  same((words) => openControl(words, control), openControlMachine());
  same(
    (words) => stopWorker(words, control),
    stopWorkerMachine({ stop: "stop", submitted: "submitted" }),
  );
  same(
    (words) => ringDoorbell(words, control + 4 * CONTROL.doorbell),
    ringDoorbellMachine("doorbell"),
  );
  for (const [us, seen] of [[0, 0], [0, 1], [500, 0]]) {
    const bell = { control, doorbell: control + 4 * CONTROL.doorbell };
    const ours = { linger: "linger", completed: "completed" };
    same(
      (words) => allowLinger(words, bell, us, seen),
      allowLingerMachine(ours, "doorbell", us, seen),
    );
  }
});
