import type { Claim } from "../claim.ts";

/** What the E2bird paper claims. */
export const CLAIMS: readonly Claim[] = [];
