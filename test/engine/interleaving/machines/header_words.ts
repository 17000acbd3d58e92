/** src/engine/tensors/slot_header.ts, access by access. */
import { at, cas, load, store, write } from "../access.ts";
import type { Body } from "../automaton.ts";

/** Words of the slot that is called `slot`. */
export const header = (slot: string) => ({
  abandoned: `${slot}.abandoned`,
  failure: `${slot}.failure`,
  lastStep: `${slot}.lastStep`,
  stepsLimit: `${slot}.stepsLimit`,
  reasonOf: `${slot}.reasonOf`,
});

/** Where a reason is written; one word stands for its text. */
export const reason = (slot: string) => `${slot}.reason`;

/** Their first values, and how they are accessed. */
export function headerWords(slot: string, stepsLimit: number) {
  const { abandoned, failure, lastStep, stepsLimit: limit, reasonOf } = header(
    slot,
  );
  return {
    mixed: { [abandoned]: 0, [failure]: 0, [lastStep]: 0, [reasonOf]: 0 },
    plain: { [limit]: stepsLimit, [reason(slot)]: 0 },
  };
}

/** What `stepOutcome` says. */
export const DONE = 0;
export const LAST = 1;
export const VOID = 2;

export function* openHeader(slot: string, stepsLimit: number): Body<void> {
  const { abandoned, failure, lastStep, stepsLimit: limit, reasonOf } = header(
    slot,
  );
  for (const word of [abandoned, failure, lastStep, limit, reasonOf]) {
    yield write(word, 0);
  }
  yield write(limit, stepsLimit);
}

export function* abandonSlot(slot: string): Body<void> {
  yield store(header(slot).abandoned, 1);
}

export function* isVoid(slot: string): Body<boolean> {
  const { abandoned, failure, lastStep } = header(slot);
  return (yield load(abandoned)) !== 0 || (yield load(failure)) !== 0 ||
    (yield load(lastStep)) !== 0;
}

/**
 * @param failure the word that says node and call, not 0
 * @param said number of the node, from 1 on, and what the reason's word is
 */
export function* reportFailure(
  slot: string,
  failure: number,
  said?: { readonly node: number; readonly text: number },
): Body<void> {
  const { failure: failed, reasonOf } = header(slot);
  if (said) {
    const claimed = yield cas(reasonOf, 0, said.node);
    if (claimed === 0 || claimed === said.node) {
      yield write(reason(slot), said.text);
    }
  }
  yield cas(failed, 0, failure);
}

/**
 * @param node its number, from 1 on
 * @returns the reason's word; 0: nobody has said
 */
export function* reasonOf(slot: string, node: number): Body<number> {
  if ((yield load(header(slot).reasonOf)) !== node) return 0;
  return yield { op: "read", word: reason(slot) };
}

export function* failureOf(slot: string): Body<number> {
  return yield load(header(slot).failure);
}

/** @param stops whether the step's token ends the request */
export function* takeStep(
  slot: string,
  step: number,
  stops: boolean,
): Body<void> {
  const { failure, lastStep, stepsLimit } = header(slot);
  const limit = yield { op: "read", word: stepsLimit };
  if (limit === 0 || (yield load(failure)) !== 0) return;
  if (!stops && step < limit) return;
  yield cas(lastStep, 0, step);
}

export function* stepOutcome(slot: string, step: number): Body<number> {
  const last = yield load(header(slot).lastStep);
  if (last === 0 || step < last) return DONE;
  return step === last ? LAST : VOID;
}

/** Row of step number `step`. */
export const row = (slot: string, step: number) => at(`${slot}.row`, step);
