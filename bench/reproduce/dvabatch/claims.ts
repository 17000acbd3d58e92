import type { Claim } from "../claim.ts";

/** What the DVABatch paper claims. */
export const CLAIMS: readonly Claim[] = [];
