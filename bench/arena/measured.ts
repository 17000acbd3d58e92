/** This machine's times of the workloads' cells: measured once, and kept beside the cache. */
import { existsSync, readFileSync } from "node:fs";
import { makeFolder, writeText } from "../../src/cli/files.ts";
import { progress } from "../../src/cli/terminal.ts";
import type { SizeClass } from "../../src/models/registry.ts";
import { seededWeights } from "../../src/tensor/weights.ts";
import { keptProfile } from "../kept_profile.ts";
import { frameProfile } from "../streams/frame_profile.ts";
import type { Measured } from "./devices.ts";
import { streamGroups } from "./streams.ts";
import { registryNames, STREAMS } from "./workloads.ts";

/**
 * @param size of the models
 * @throws Error when a model cannot be measured
 */
export async function measuredTimes(
  workload: string,
  size: SizeClass,
  folder: string,
): Promise<Measured> {
  makeFolder(folder);
  const tablesNs: Record<string, Measured["tablesNs"][string]> = {};
  for (
    const model of workload === STREAMS ? [STREAMS] : registryNames(workload)
  ) {
    const path = `${folder}/${model}-${size}.json`;
    if (model !== STREAMS) {
      await keptProfile(path, [model, "--size", size]);
    } else if (!existsSync(path)) {
      progress(`measuring ${model}, ${size}`);
      writeText(path, JSON.stringify(await frames(size)));
    }
    const read = JSON.parse(readFileSync(path, "utf8")) as Measured;
    Object.assign(tablesNs, read.tablesNs);
  }
  return { tablesNs };
}

/** Of a frame of each group. */
async function frames(size: SizeClass): Promise<Measured> {
  const tablesNs: Record<string, Measured["tablesNs"][string]> = {};
  for (
    const { frame: { model, input } } of streamGroups(size, seededWeights(1))
  ) {
    Object.assign(tablesNs, await frameProfile({ model, frame: () => input }));
  }
  return { tablesNs };
}
