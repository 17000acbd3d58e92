/** What real code does with shared words, in the lines that solo.ts has for a machine's. */
import { type Access, NOT_EQUAL, OK } from "./access.ts";
import { spelled } from "./search.ts";

export interface Recording {
  /** Names of the words to record, by index; accesses of others are left out. */
  readonly names: ReadonlyMap<number, string>;
  /** Others, while the code sleeps; false: it would sleep for ever. */
  readonly asleep?: (words: Int32Array) => boolean;
  /** Called behind each recorded access. */
  readonly after?: (line: string, words: Int32Array) => void;
}

/** Runs code of this thread that shares `words`. @returns its accesses, in order */
export function record(
  words: Int32Array,
  recording: Recording,
  run: () => void,
): string[] {
  const lines: string[] = [];
  const real = globalThis.Atomics;
  const saw = (
    index: number,
    access: (word: string) => Access,
    answer = OK,
  ) => {
    const word = recording.names.get(index);
    if (word === undefined) return;
    const line = spelled(access(word), answer)!;
    lines.push(line);
    recording.after?.(line, words);
  };
  /** The array behind a watched one. */
  const bare = (array: Int32Array) => BEHIND.get(array) ?? array;
  const add = (array: Int32Array, index: number, value: number) => {
    const answer = real.add(bare(array), index, value);
    saw(index, (word) => ({ op: "add", word, value }), answer);
    return answer;
  };
  const patched = {
    load(array: Int32Array, index: number) {
      const answer = real.load(bare(array), index);
      saw(index, (word) => ({ op: "load", word }), answer);
      return answer;
    },
    store(array: Int32Array, index: number, value: number) {
      real.store(bare(array), index, value);
      saw(index, (word) => ({ op: "store", word, value }));
      return value;
    },
    add,
    sub: (array: Int32Array, index: number, value: number) =>
      add(array, index, -value),
    compareExchange(
      array: Int32Array,
      index: number,
      expected: number,
      value: number,
    ) {
      const answer = real.compareExchange(bare(array), index, expected, value);
      saw(index, (word) => ({ op: "cas", word, expected, value }), answer);
      return answer;
    },
    notify(_array: Int32Array, index: number) {
      saw(index, (word) => ({ op: "notify", word }));
      return 0;
    },
    wait(array: Int32Array, index: number, value: number) {
      const sleeps = real.load(bare(array), index) === value;
      saw(
        index,
        (word) => ({ op: "wait", word, value }),
        sleeps ? OK : NOT_EQUAL,
      );
      if (sleeps && !recording.asleep?.(words)) {
        throw new Error("it sleeps for ever");
      }
      return sleeps ? "ok" : "not-equal";
    },
  };
  globalThis.Atomics = patched as unknown as Atomics;
  try {
    run();
  } finally {
    globalThis.Atomics = real;
  }
  return lines;
}

const BEHIND = new WeakMap<Int32Array, Int32Array>();

/** `words`, with its plain accesses told as well. */
export function watched(
  words: Int32Array,
  names: ReadonlyMap<number, string>,
  lines: string[],
): Int32Array {
  const tell = (
    index: number,
    access: (word: string) => Access,
    answer = OK,
  ) => {
    const word = names.get(index);
    if (word !== undefined) lines.push(spelled(access(word), answer)!);
  };
  const fill = (value: number, from = 0, to = words.length) => {
    for (let i = from; i < to; i++) {
      words[i] = value;
      tell(i, (word) => ({ op: "write", word, value }));
    }
  };
  const proxy = new Proxy(words, {
    get(_target, key) {
      if (key === "fill") return fill;
      if (key === "buffer") return words.buffer;
      const index = Number(key as string);
      const value = words[index];
      tell(index, (word) => ({ op: "read", word }), value);
      return value;
    },
    set(_target, key, value: number) {
      const index = Number(key as string);
      words[index] = value;
      tell(index, (word) => ({ op: "write", word, value }));
      return true;
    },
  });
  BEHIND.set(proxy, words);
  return proxy;
}

/** Lines without those that say what the one before said: how often a thread looks is a matter of time. */
export function once(lines: readonly string[]): string[] {
  return lines.filter((line, i) => line !== lines[i - 1]);
}
