import type { Claim } from "../claim.ts";

/** What the LazyBatching paper claims. */
export const CLAIMS: readonly Claim[] = [];
