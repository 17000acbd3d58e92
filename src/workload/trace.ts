/** Logs of what arrived: a request a line, or how many came in each of many intervals. */
import { describe } from "../base/describe.ts";
import { Prng } from "../base/prng.ts";

/** One request of a log. */
export interface TraceRow {
  readonly atSeconds: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const HEADER = "t_seconds,input_tokens,output_tokens";
const COUNTS_HEADER = "t_seconds,count";

/** Requests that counts may add up to. */
const COUNTED_MAX = 5_000_000;

/**
 * When the requests of a log came, in seconds from the first: of a log of requests as recorded. Counts of intervals
 * (`t_seconds,count`, each up to the next line's time, the last as long as the one before) say no more than how many
 * came; within an interval their times are independent and uniform, and the same for every seed.
 * @param file names the log in errors
 * @throws SyntaxError naming file, line and value
 */
export function traceSeconds(csv: string, file: string): number[] {
  const header = headerOf(linesOf(csv, file), file, [HEADER, COUNTS_HEADER]);
  const seconds = header === COUNTS_HEADER
    ? countedSeconds(csv, file)
    : readTrace(csv, file).map(({ atSeconds }) => atSeconds);
  const [first] = seconds;
  return seconds.map((at) => at - first);
}

function countedSeconds(csv: string, file: string): number[] {
  const rows = linesOf(csv, file).slice(1).map((line, i) => {
    const [at = NaN, count = NaN, ...more] = line.split(",").map((field) =>
      field.trim() === "" ? NaN : Number(field)
    );
    const isRow = more.length === 0 && at >= 0 && at < Infinity &&
      Number.isInteger(count) && count >= 0;
    if (isRow) return { at, count };
    throw new SyntaxError(
      `${file}:${i + 2}: expected ${COUNTS_HEADER}, got ${describe(line)}`,
    );
  });
  const later = rows.findIndex(({ at }, i) => i > 0 && at <= rows[i - 1].at);
  if (later >= 0) {
    throw new SyntaxError(`${file}:${later + 2}: t_seconds does not ascend`);
  }
  const total = rows.reduce((sum, { count }) => sum + count, 0);
  if (rows.length < 2 || total === 0 || total > COUNTED_MAX) {
    throw new SyntaxError(
      `${file}: counts are of two intervals or more, of 1 to ${COUNTED_MAX} requests, got ${rows.length} and ${total}`,
    );
  }
  const prng = new Prng(1).fork("counts");
  return rows.flatMap(({ at, count }, i) => {
    const seconds = i + 1 < rows.length
      ? rows[i + 1].at - at
      : at - rows[i - 1].at;
    return Array.from({ length: count }, () => at + seconds * prng.float())
      .sort((a, b) => a - b);
  });
}

function linesOf(csv: string, file: string): string[] {
  if (typeof csv !== "string") {
    throw new TypeError(`${file}: a trace is text, got ${typeof csv}`);
  }
  const lines = csv.replace(/\r\n/g, "\n").replace(/^\uFEFF/, "").split("\n");
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

/** @throws SyntaxError unless the first line is one of the headers */
function headerOf(
  [header = ""]: readonly string[],
  file: string,
  known: readonly string[],
): string {
  if (known.includes(header)) return header;
  throw new SyntaxError(
    `${file}:1: expected the header ${
      known.map((one) => `"${one}"`).join(" or ")
    }, got ${describe(header)}`,
  );
}

/**
 * Reads a request log in CSV: a header, then `t_seconds,input_tokens,output_tokens` per request,
 * times ascending.
 * @param file names the log in errors
 * @throws SyntaxError naming file, line and value
 */
export function readTrace(csv: string, file: string): TraceRow[] {
  const lines = linesOf(csv, file);
  headerOf(lines, file, [HEADER]);
  if (lines.length === 1) {
    throw new SyntaxError(
      `${file}:2: expected a request, the trace holds none`,
    );
  }
  let beforeSeconds = 0;
  return lines.slice(1).map((line, i) => {
    const where = `${file}:${i + 2}`;
    const fields = line.split(",");
    if (fields.length !== 3) {
      throw new SyntaxError(
        `${where}: expected 3 fields, got ${fields.length} in ${
          describe(line)
        }`,
      );
    }
    const [atSeconds, inputTokens, outputTokens] = fields.map((field) =>
      field.trim() === "" ? NaN : Number(field)
    );
    if (!(atSeconds >= 0 && atSeconds < Infinity)) {
      throw new SyntaxError(
        `${where}: t_seconds is a number of seconds from 0, got ${
          describe(fields[0])
        }`,
      );
    }
    if (atSeconds < beforeSeconds) {
      throw new SyntaxError(
        `${where}: t_seconds goes back from ${beforeSeconds} to ${atSeconds}; sort the trace`,
      );
    }
    beforeSeconds = atSeconds;
    for (
      const [name, value, field] of [["input_tokens", inputTokens, 1], [
        "output_tokens",
        outputTokens,
        2,
      ]] as const
    ) {
      if (!(Number.isInteger(value) && value >= 0)) {
        throw new SyntaxError(
          `${where}: ${name} is a count, got ${describe(fields[field])}`,
        );
      }
    }
    return {
      atSeconds: atSeconds,
      inputTokens: inputTokens,
      outputTokens: outputTokens,
    };
  });
}
