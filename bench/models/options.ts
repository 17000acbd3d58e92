/** What bench:models is asked for. */
import { describe } from "../../src/base/describe.ts";
import { ROUNDS_MAX, threadsMax } from "../../src/cli/limits.ts";
import { integerOption, integersOption } from "../../src/cli/options.ts";
import { UsageError } from "../../src/cli/terminal.ts";
import { type Network, NETWORKS } from "./networks.ts";

/** The options as they are given. */
export interface ModelsValues {
  only?: string;
  quick?: boolean;
  rounds?: string;
  threads?: string;
  batches?: string;
}

/** What they ask for. */
export interface ModelsOptions {
  networks: readonly Network[];
  rounds: number;
  threads: number;
}

const ROUNDS = 7;
const QUICK_ROUNDS = 3;
/** Requests at once; their rows and images fit the engine's memory. */
const BATCH_MAX = 32;

/** @throws {UsageError} on a value that does not do */
export function modelsOptions(
  { only = "", quick = false, rounds, threads, batches }: ModelsValues,
): ModelsOptions {
  const chosen = NETWORKS.filter(({ name }) =>
    name.toLowerCase().includes(only.toLowerCase())
  );
  if (chosen.length === 0) {
    throw new UsageError(
      `No network has ${describe(only)} in its name; there are ${
        NETWORKS.map(({ name }) => name).join("; ")
      }`,
    );
  }
  const sizes = batches === undefined ? undefined : [
    ...new Set(
      integersOption("batches", batches, { min: 1, max: BATCH_MAX }),
    ),
  ];
  return {
    networks: chosen.map((network) => ({
      ...network,
      batches: sizes ?? network.batches,
    })),
    rounds: integerOption("rounds", rounds, quick ? QUICK_ROUNDS : ROUNDS, {
      min: 1,
      max: ROUNDS_MAX,
    }),
    threads: integerOption("threads", threads, 1, {
      min: 1,
      max: threadsMax(),
    }),
  };
}
