/** What the server speaks: one line adds one. Paths that are like nobody's are answered in the first one's words. */
import type { Protocol } from "./http/route.ts";
import { COHERE } from "./cohere/cohere.ts";
import { OIP } from "./oip/oip.ts";
import { OPENAI } from "./openai/openai.ts";
import { TEI } from "./tei/tei.ts";

/** All protocols. */
export const PROTOCOLS: readonly Protocol[] = [
  OIP,
  OPENAI,
  TEI,
  COHERE,
];
