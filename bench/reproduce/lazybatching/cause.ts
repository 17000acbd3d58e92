import { type Finding, verdictOf } from "../claim.ts";
import { CLAIMS } from "./claims.ts";

/** The finding, with its cause where the claim is not reproduced. */
export function withCause(
  finding: Finding,
  text: string,
  shownBy: string,
): Finding {
  const claim = CLAIMS.find(({ id }) => id === finding.claim)!;
  return verdictOf(claim, finding) === "not reproduced"
    ? { ...finding, cause: { text, shownBy } }
    : finding;
}
