import fc from "fast-check";
import type { PenaltyInput } from "../src/models/draw_input.ts";

/** What a request to a decoder of so many tokens may change scores by. */
export function anyPenalties(vocabulary: number) {
  return {
    repetitionPenalty: fc.constantFrom(1, 1.1, 2, 0.5),
    presencePenalty: fc.constantFrom(0, 0.5, -0.3),
    frequencyPenalty: fc.constantFrom(0, 0.25, -0.1),
    noRepeatNgramSize: fc.constantFrom(0, 1, 2, 3),
    minTokens: fc.constantFrom(0, 1, 4, 30),
    logitBias: fc.dictionary(
      fc.nat(vocabulary - 1).map(String),
      fc.constantFrom(-100, -0.5, 0.5, 3),
      { maxKeys: 3 },
    ) as fc.Arbitrary<Record<number, number>>,
  } satisfies {
    [Field in keyof PenaltyInput]: fc.Arbitrary<PenaltyInput[Field]>;
  };
}
