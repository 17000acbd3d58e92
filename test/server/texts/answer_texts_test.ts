import assert from "node:assert/strict";
import { wallNs } from "../../../src/engine/wall/clock.ts";
import type { TextsEnded } from "../../../src/server/http/text_observer.ts";
import type { Context } from "../../../src/server/http/route.ts";
import { answerTexts } from "../../../src/server/texts/answer_texts.ts";
import type { ServedText } from "../../../src/server/texts/served_text.ts";

Deno.test("observers hear the time that the answer says", async () => {
  const heard: TextsEnded[] = [];
  const texts = { began: () => (ended: TextsEnded) => void heard.push(ended) };
  const said: number[] = [];
  await answerTexts({ texts } as unknown as Context, {
    isBatch: true,
    find: () => ({}) as ServedText,
    run: () => Promise.resolve([]),
    answer(_results, _costs, totalNs) {
      const ns = totalNs();
      // The clock goes on before it is asked for others.
      for (const nowNs = wallNs(); wallNs() === nowNs;);
      said.push(ns);
      return new Response();
    },
  });
  assert.deepEqual(heard, [{ costs: [], totalNs: said[0] }]);
});
