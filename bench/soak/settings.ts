/** What the soak is asked to do. */
import { parseArgs } from "node:util";
import { integerOption, UsageError } from "../../src/cli/terminal.ts";
import { POLICIES } from "../../src/policy/registry.ts";

export const HELP = `deno task bench:soak [options]

Serves a mix of models on real worker threads at 0.6 times and 10 times the measured peak in turn, with
deadlines, cancellations and bad inputs, and compares every answer with the one the request gets alone.
Exit code 1 when an answer is wrong, or a request is lost, ends twice or with an error that it should not.

  --minutes N    length, without finding the peak (default 10)
  --policy NAME  ${Object.keys(POLICIES).join(", ")}
                 (default cellular)
  --workers N    worker threads (default 1: the second core schedules and generates)
  --seed N       seed of weights, inputs and arrivals (default 1)
  --json         the result as JSON on stdout
  -h, --help     this text`;

export interface SoakSettings {
  readonly minutes: number;
  readonly policy: string;
  readonly workers: number;
  readonly seed: number;
  readonly json: boolean;
}

/**
 * @returns undefined when help is asked for
 * @throws UsageError naming the option and what it takes
 */
export function soakSettings(args: string[]): SoakSettings | undefined {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: "string", default: "10" },
      policy: { type: "string", default: "cellular" },
      workers: { type: "string" },
      seed: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && minutes < Infinity)) {
    throw new UsageError(
      `--minutes is a positive number, got "${values.minutes}"`,
    );
  }
  if (!Object.hasOwn(POLICIES, values.policy)) {
    throw new UsageError(
      `--policy "${values.policy}" does not exist; there are ${
        Object.keys(POLICIES).join(", ")
      }`,
    );
  }
  const workers = integerOption("workers", values.workers, 1);
  if (workers === 0) throw new UsageError("--workers is at least 1");
  return {
    minutes,
    policy: values.policy,
    workers,
    seed: integerOption("seed", values.seed, 1),
    json: values.json,
  };
}
