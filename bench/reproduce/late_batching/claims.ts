import type { Claim } from "../claim.ts";

/** What the Late Batching paper claims. */
export const CLAIMS: readonly Claim[] = [];
