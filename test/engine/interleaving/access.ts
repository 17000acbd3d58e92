/**
 * What a process of a machine does, one step at a time. A process is a generator function that yields
 * accesses and gets back a number for each; see automaton.ts for the rule that goes with it.
 */
export type Access =
  /** Sequentially consistent, as those of `Atomics`; add and cas answer the value before. */
  | { readonly op: "load"; readonly word: string }
  | { readonly op: "store"; readonly word: string; readonly value: number }
  | {
    readonly op: "add";
    readonly word: string;
    readonly value: number;
    /** Values from here on are all alike to those who read the word. */
    readonly most?: number;
  }
  | {
    readonly op: "cas";
    readonly word: string;
    readonly expected: number;
    readonly value: number;
  }
  /** Sleeps while the word is `value`: answers OK once notified, NOT_EQUAL when it did not sleep. */
  | { readonly op: "wait"; readonly word: string; readonly value: number }
  /** `Atomics.waitAsync`: answers OK when the process listens now; `event` then hears the notification. */
  | { readonly op: "listen"; readonly word: string; readonly value: number }
  | { readonly op: "notify"; readonly word: string }
  /** Accesses without order of their own: another access must order them. */
  | { readonly op: "read"; readonly word: string }
  | { readonly op: "write"; readonly word: string; readonly value: number }
  /** The proof's own books, part of the access before; `count` answers the new value. */
  | { readonly op: "count"; readonly word: string; readonly value: number }
  | { readonly op: "look"; readonly word: string }
  /** Any of 0 to options - 1. */
  | { readonly op: "choose"; readonly options: number }
  /**
   * The event loop: RUNG after `listen` was notified; any of the others at any time, from 1 on; behind
   * them, the news that a process died.
   */
  | { readonly op: "event"; readonly others: number; readonly death?: string }
  | { readonly op: "start"; readonly process: string }
  /** Waits until a process has ended or died, with all that it did. */
  | { readonly op: "gone"; readonly process: string };

export const OK = 0;
export const NOT_EQUAL = 1;
export const RUNG = 0;

/** Name of word number `i` of an array of words. */
export function at(name: string, i: number): string {
  return `${name}[${i}]`;
}

export const load = (word: string): Access => ({ op: "load", word });
export const store = (word: string, value: number): Access => ({
  op: "store",
  word,
  value,
});
export const add = (word: string, value: number, most?: number): Access => ({
  op: "add",
  word,
  value,
  ...(most !== undefined && { most }),
});
export const cas = (
  word: string,
  expected: number,
  value: number,
): Access => ({ op: "cas", word, expected, value });
export const wait = (word: string, value: number): Access => ({
  op: "wait",
  word,
  value,
});
export const listen = (word: string, value: number): Access => ({
  op: "listen",
  word,
  value,
});
export const notify = (word: string): Access => ({ op: "notify", word });
export const read = (word: string): Access => ({ op: "read", word });
export const write = (word: string, value: number): Access => ({
  op: "write",
  word,
  value,
});
export const count = (word: string, value = 1): Access => ({
  op: "count",
  word,
  value,
});
export const look = (word: string): Access => ({ op: "look", word });
export const choose = (options: number): Access => ({ op: "choose", options });
export const event = (others = 0, death?: string): Access => ({
  op: "event",
  others,
  ...(death !== undefined && { death }),
});
export const start = (process: string): Access => ({ op: "start", process });
export const gone = (process: string): Access => ({ op: "gone", process });
