/** What the server speaks: one line adds one. Paths that nobody has are answered in the first one's words. */
import type { Protocol } from "./http/route.ts";
import { OIP } from "./oip/oip.ts";

/** All protocols. */
export const PROTOCOLS: readonly Protocol[] = [
  OIP,
];
