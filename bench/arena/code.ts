/**
 * What code a point of the arena depends on: what simulates, whoever plays, and the policy that plays with all that it
 * imports. So a change of one policy makes that one's points anew and nobody else's.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Sources } from "../reproduce/run/sources.ts";

/** It imports every policy. */
const REGISTRY = "src/policy/registry.ts";
/** The code that plays. */
export const PLAYING = "bench/arena/match.ts";

/** Sources of all but the policies. Virtual time knows no kernels. */
export function sourcesWithoutPolicies(root: string): Sources {
  return new Sources(root, { without: [REGISTRY], kernels: false });
}

/** @returns by name of a policy a hash of its file and what that imports */
export function policyCode(root: string): (policy: string) => string {
  const sources = sourcesWithoutPolicies(root);
  const files = policyFiles(readFileSync(join(root, REGISTRY), "utf8"));
  return (policy) => {
    const file = files.get(policy);
    const hash = file && sources.hash(file);
    if (!hash) throw new Error(`Where is policy "${policy}" in ${REGISTRY}?`);
    return hash;
  };
}

/** Files of the registry's policies, from the root, as it imports what builds them. */
export function policyFiles(registry: string): Map<string, string> {
  const imported = new Map<string, string>();
  for (
    const [, names, path] of registry.matchAll(
      /^import \{([^}]+)\} from "\.\/([^"]+)";$/gm,
    )
  ) {
    for (const name of names.split(",")) {
      imported.set(name.trim(), `src/policy/${path}`);
    }
  }
  const files = new Map<string, string>();
  for (
    const [, quoted, plain, build] of registry.matchAll(
      /^ {2}(?:"([^"]+)"|(\w+)): \{\s+build: (\w+),/gm,
    )
  ) {
    const file = imported.get(build);
    if (file !== undefined) files.set(quoted ?? plain, file);
  }
  return files;
}
