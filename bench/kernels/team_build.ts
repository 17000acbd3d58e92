/** Our side of a bench on several threads: a build as a team, and on one thread, over one memory. */
import { readFileSync } from "node:fs";
import { KernelTeam } from "../../src/engine/wall/kernel_team.ts";
import { probeScratch } from "../../src/engine/wall/scratch_probe.ts";
import { createMemory } from "../../src/kernels/module/memory.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import { Own, PROBE_MS } from "./own.ts";
import { ROOT } from "./root.ts";

/** Working memory of convolutions and attention. */
const SCRATCH_BYTES = 2 ** 20;

/** onnxruntime-web's threads spin for 60 ms after a run, on a core that others then lack. */
export const SETTLE_MS = 100;

/** A build twice; which of the two runs makes no difference to the memory. */
export interface TeamBuild {
  team: KernelTeam;
  /** On one thread. */
  one: Own;
  /** On all of them. */
  many: Own;
}

/** @param file of build/, over shared memory */
export async function startTeamBuild(
  file: string,
  { name, threads, megabytes }: {
    name: string;
    threads: number;
    megabytes: number;
  },
): Promise<TeamBuild> {
  const memory = createMemory({ bytes: megabytes * 2 ** 20, shared: true });
  const kernels = new Uint8Array(readFileSync(new URL(`build/${file}`, ROOT)));
  const one = instantiateKernels(kernels, { memory });
  const address = Math.ceil(one.shoal_static_end() / 64) * 64;
  const plan = { threads, scratchBytes: SCRATCH_BYTES };
  const { bytes, variants } = probeScratch(kernels, {
    shared: true,
    patienceMs: PROBE_MS,
  });
  const scratch = address + KernelTeam.bytes(plan);
  one.shoal_use_scratch(scratch, variants);
  const kernelScratch = { address: scratch + bytes, variants };
  const team = await KernelTeam.start({
    ...{ kernels, memory, address, kernelScratch },
    ...plan,
  });
  const base = scratch + (1 + threads) * bytes;
  return {
    team,
    one: new Own(`${name}, 1`, memory, one, base, variants),
    many: new Own(`${name}, ${threads}`, memory, team.kernels, base, variants),
  };
}
