/** What clients of `bench:overload` ask for: sentences for an encoder. */
import { Prng } from "../../src/base/prng.ts";
import type { WireRequest } from "../../src/load/wire.ts";

/** Tokens of a request: short and long sentences. */
const TOKENS_MIN = 8;
const TOKENS_MAX = 120;

const SENTENCES = 512;

/** Requests, and how many tokens each of them has. */
export function overloadRequests(
  seed: number,
): { readonly lengths: readonly number[]; readonly bodies: WireRequest[] } {
  const drawing = new Prng(seed).fork("requests");
  const lengths = Array.from(
    { length: SENTENCES },
    () => TOKENS_MIN + drawing.int(TOKENS_MAX - TOKENS_MIN + 1),
  );
  const bodies = lengths.map((length) => {
    const body = {
      inputs: [{
        name: "tokens",
        shape: [length],
        datatype: "INT32",
        data: Array.from({ length }, () => drawing.int(1000)),
      }],
    };
    return {
      method: "POST" as const,
      path: "/v2/models/encoder/infer",
      headers: { "content-type": "application/json" },
      body: new TextEncoder().encode(JSON.stringify(body)),
    };
  });
  return { lengths, bodies };
}
