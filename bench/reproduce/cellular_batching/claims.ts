import type { Claim } from "../claim.ts";

/** What the cellular batching paper claims. */
export const CLAIMS: readonly Claim[] = [];
