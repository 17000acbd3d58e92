/** This machine's times of the workloads' cells: measured once, and kept beside the cache. */
import { existsSync, readFileSync } from "node:fs";
import { makeFolder } from "../../src/cli/files.ts";
import { profile } from "../../src/cli/profile.ts";
import { progress } from "../../src/cli/terminal.ts";
import type { Measured } from "./devices.ts";
import { registryNames } from "./workloads.ts";

/**
 * @param size of the models
 * @throws Error when a model cannot be measured
 */
export async function measuredTimes(
  workload: string,
  size: string,
  folder: string,
): Promise<Measured> {
  makeFolder(folder);
  const tablesNs: Record<string, Measured["tablesNs"][string]> = {};
  for (const model of registryNames(workload)) {
    const path = `${folder}/${model}-${size}.json`;
    if (!existsSync(path)) {
      progress(`measuring ${model}, ${size}`);
      const code = await profile([model, "--size", size, "--out", path]);
      if (code !== 0) throw new Error(`${model} could not be measured`);
    }
    const read = JSON.parse(readFileSync(path, "utf8")) as Measured;
    Object.assign(tablesNs, read.tablesNs);
  }
  return { tablesNs };
}
