import { describe } from "../base/describe.ts";

/** One request of a log. */
export interface TraceRow {
  readonly atSeconds: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const HEADER = "t_seconds,input_tokens,output_tokens";

/**
 * Reads a request log in CSV: a header, then `t_seconds,input_tokens,output_tokens` per request,
 * times ascending.
 * @param file names the log in errors
 * @throws SyntaxError naming file, line and value
 */
export function readTrace(csv: string, file: string): TraceRow[] {
  if (typeof csv !== "string") {
    throw new TypeError(`${file}: a trace is text, got ${typeof csv}`);
  }
  const lines = csv.replace(/\r\n/g, "\n").replace(/^\uFEFF/, "").split("\n");
  while (lines.at(-1) === "") lines.pop();
  if (lines[0] !== HEADER) {
    throw new SyntaxError(
      `${file}:1: expected the header "${HEADER}", got ${
        describe(lines[0] ?? "")
      }`,
    );
  }
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
