/** The policy that a server's settings ask for. */
import { msToNs } from "../../base/units.ts";
import type { Policy } from "../../policy/policy.ts";
import { POLICIES } from "../../policy/registry.ts";
import { policyOptions } from "../policy_options.ts";
import { UsageError } from "../terminal.ts";
import type { ServerSettings } from "./serve_settings.ts";

/**
 * Makes one for each engine; those that decide by a target get the server's.
 * @throws UsageError when it cannot have its options
 */
export function policyOf(
  { policy: { name, options }, max_batch_size, slo_ms }: Pick<
    ServerSettings,
    "policy" | "max_batch_size" | "slo_ms"
  >,
): () => Policy {
  const entry = POLICIES[name];
  const build = () =>
    entry.build({
      ...policyOptions(name, { batchSizeMax: max_batch_size }),
      ...(slo_ms !== undefined && "slaNs" in entry.options &&
        { slaNs: msToNs(slo_ms) }),
      ...options,
    });
  try {
    build();
  } catch (error) {
    const isTheirs = error instanceof RangeError || error instanceof TypeError;
    throw isTheirs ? new UsageError(error.message) : error;
  }
  return build;
}
