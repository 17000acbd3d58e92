/** What the soak is asked to do. */
import { integerOption, oneName, taskSettings } from "../../src/cli/options.ts";
import { UsageError } from "../../src/cli/terminal.ts";
import { POLICIES } from "../../src/policy/registry.ts";

const HELP = `bench:soak [options]

Serves a mix of models on real worker threads at 0.6 times and 10 times the measured peak in turn, with
deadlines, cancellations and bad inputs, and compares every answer with the one the request gets alone.
Exit code 1 when an answer is wrong, or a request is lost, ends twice or with an error that it should not.

  --minutes N       length, without finding the peak (default 10)
  --policy NAME     ${Object.keys(POLICIES).join(", ")}
                    (default cellular)
  --workers N       worker threads (default 1: the second core schedules and generates)
  --seed N          seed of weights, inputs and arrivals (default 1)
  --json            the result as JSON on stdout`;

const WORKERS_MAX = 64;
/** A week. */
const MINUTES_MAX = 10_080;
const SEED_MAX = Number.MAX_SAFE_INTEGER;

export interface SoakSettings {
  readonly minutes: number;
  readonly policy: string;
  readonly workers: number;
  readonly seed: number;
  readonly json: boolean;
}

/** The program's own arguments; what is wrong with them, help and version end the process. */
export function soakSettings(): SoakSettings {
  return taskSettings({
    name: "bench:soak",
    help: HELP,
    options: {
      minutes: { type: "string", default: "10" },
      policy: { type: "string", default: "cellular" },
      workers: { type: "string" },
      seed: { type: "string" },
      json: { type: "boolean", default: false },
    },
  }, ({ values: { minutes, policy, workers, seed, json } }) => ({
    minutes: minutesOf(minutes),
    policy: oneName("--policy", policy, Object.keys(POLICIES)),
    workers: integerOption("workers", workers, 1, { min: 1, max: WORKERS_MAX }),
    seed: integerOption("seed", seed, 1, { max: SEED_MAX }),
    json,
  }));
}

function minutesOf(text: string): number {
  const minutes = Number(text);
  if (minutes > 0 && minutes <= MINUTES_MAX) return minutes;
  throw new UsageError(
    `--minutes is a positive number up to ${MINUTES_MAX}, got "${
      text.slice(0, 80)
    }"`,
  );
}
