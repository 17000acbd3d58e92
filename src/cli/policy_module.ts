/** A policy of the caller's own, in a module that a configuration names. */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, shorten } from "../base/describe.ts";
import { checkPolicy } from "../engine/core/check_models.ts";
import type { Policy } from "../policy/policy.ts";
import { readText } from "./files.ts";
import { UsageError } from "./terminal.ts";

/**
 * Runs a module whose default export makes a policy of its options.
 * @param path looked for from where the command is run
 * @returns makes a fresh policy, and throws a TypeError where it is none
 * @throws UsageError when the module cannot be run, or exports no function
 */
export async function policyModule(
  path: string,
): Promise<(options: Record<string, unknown>) => Policy> {
  // Said as of any other file; hosts' words for it go on about resolution.
  readText(path);
  const label = `Policy ${shorten(path)}`;
  const loaded: { default?: unknown } = await import(
    pathToFileURL(resolve(path)).href
  ).catch((error) => {
    const why = error instanceof Error ? error.message : describe(error);
    throw new UsageError(`${label}: ${shorten(why, 400)}`);
  });
  const { default: make } = loaded;
  if (typeof make !== "function") {
    throw new UsageError(
      `${label}: its default export is a function that makes a policy of its options, got ${
        describe(make)
      }`,
    );
  }
  return (options) => {
    const policy: unknown = make(options);
    checkPolicy(policy);
    return policy;
  };
}
