/**
 * Drives serving engines with random commands, sensible ones and others, and checks after each that every request
 * has ended as its history allows: with the bits of serial execution, or with an error that it has deserved.
 */
import process from "node:process";
import fc from "fast-check";
import { POLICIES } from "../../src/policy/registry.ts";
import { propertyRuns } from "../property_runs.ts";
import { anyOptions } from "./arbitraries.ts";
import { calmOptions } from "./calm_options.ts";
import { EnginePool } from "./engine_pool.ts";
import type { EngineUnderTest, Setting } from "./engine_under_test.ts";
import { HangError, unlessItHangs } from "./hang_guard.ts";
import { withMortalWorkers } from "./mortal_workers.ts";
import { SERVED, SLOT_BYTES } from "./served_models.ts";
import { anyCommand, type Command } from "./serving_commands.ts";

/** Sequences after which other options of the policy are tried. */
const SEQUENCES_PER_ROUND = 250;

/** Tables of the largest batch of a full queue fit, and those of few batches more. */
const SMALL = { queueMax: 4, slotBytes: SLOT_BYTES.min, taskBytes: 2048 };
const LARGE = { queueMax: 12, slotBytes: SLOT_BYTES.max, taskBytes: 8192 };

const SIZES = [
  { ...SMALL, workers: 1, threadsPerWorker: 1 },
  { ...LARGE, workers: 2, threadsPerWorker: 1 },
  { ...LARGE, workers: 1, threadsPerWorker: 2 },
  { ...LARGE, workers: 0, threadsPerWorker: 1 },
];

/** An engine of every size, each with options of its own. */
function settings(policy: string, round: number): Setting[] {
  const options = fc.sample(
    anyOptions(policy),
    { numRuns: SIZES.length, seed: round },
  );
  return SIZES.map((sizes, i) => ({
    policy,
    options: calmOptions(options[i]),
    ...sizes,
  }));
}

/** Once a sequence has hung, it is shrunk in less time. */
let patienceMs = 60_000;

async function play(
  engine: EngineUnderTest,
  commands: Iterable<Command>,
): Promise<void> {
  const { oracle } = engine;
  const all = [...commands];
  played += all.length;
  await fc.asyncModelRun(() => ({ model: oracle, real: engine }), all);
  await engine.settle();
}

/** Commands so far. */
let played = 0;

/** Of the first round; SHOAL_PROPERTY_SEED plays the same sequences again. */
const seed = Number(
  process.env["SHOAL_PROPERTY_SEED"] ?? Math.floor(Math.random() * 2 ** 31),
);

const policies = Object.keys(POLICIES);
const sequences = Math.ceil(propertyRuns(1000) / policies.length);

for (const policy of policies) {
  Deno.test(`a ServingEngine with policy "${policy}" ends every request as its history allows`, async () => {
    const { supports } = POLICIES[policy].build();
    const models = Object.keys(SERVED).filter((name) =>
      supports(SERVED[name].model) === undefined
    );
    await withMortalWorkers(async (workers) => {
      for (let done = 0; done < sequences; done += SEQUENCES_PER_ROUND) {
        const pool = new EnginePool(workers);
        await fc.assert(
          fc.asyncProperty(
            fc.constantFrom(...settings(policy, done)),
            fc.commands([anyCommand(models)], {
              maxCommands: 40,
              size: "max",
            }),
            async (setting, commands) => {
              const engine = await pool.take(setting);
              try {
                await unlessItHangs(
                  () => engine.describe(),
                  play(engine, commands),
                  patienceMs,
                );
              } catch (error) {
                if (error instanceof HangError) patienceMs = 5000;
                await pool.discard(engine);
                throw error;
              }
              pool.giveBack(engine);
            },
          ),
          {
            numRuns: Math.min(SEQUENCES_PER_ROUND, sequences - done),
            seed: seed + done,
          },
        );
        await pool.close();
      }
    });
    console.log(`${sequences} sequences from seed ${seed}; ${played} commands`);
  });
}
