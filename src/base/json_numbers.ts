/**
 * Numbers that JSON has not: NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity" (Protocol Buffers,
 * "ProtoJSON Format"), so that nobody reads a null as a number that is missing or a 0. -0 stays -0, and integers beyond
 * 2^53 keep their digits.
 */

/** What such a string stands for; undefined: nothing. */
export function specialNumber(text: unknown): number | undefined {
  return typeof text === "string" && Object.hasOwn(SPECIAL, text)
    ? SPECIAL[text]
    : undefined;
}

const SPECIAL: Readonly<Record<string, number>> = {
  NaN: NaN,
  Infinity: Infinity,
  "-Infinity": -Infinity,
};

/** Elements as JSON, separated by commas, without brackets. */
export function jsonNumbers(data: ArrayLike<number | bigint>): string {
  if (typeof data[0] === "bigint") return Array.from(data).join();
  // Loops, since an iteration and a callback make an object of every number.
  const numbers = new Array<number>(data.length);
  let arePlain = true;
  for (let i = 0; i < data.length; i++) {
    const value = data[i] as number;
    numbers[i] = value;
    arePlain &&= Number.isFinite(value) && !Object.is(value, -0);
  }
  // The runtime writes what JSON has in half the time.
  return arePlain
    ? JSON.stringify(numbers).slice(1, -1)
    : numbers.map(numberText).join();
}

/** For `JSON.stringify`: leaves no null where there was a number. */
export function specialAsText(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value)
    ? `${value}`
    : value;
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  return Object.is(value, -0) ? "-0" : `${value}`;
}
