/** What rows of tokens take of what those of mean texts do. */
import assert from "node:assert/strict";
import type { TaskRecord } from "../../src/policy/records.ts";
import { meanTextsNs, tokenShare } from "../../src/cli/row_tokens.ts";

Deno.test("rows of tokens take in proportion to them, padding included; others take what they take", () => {
  const tokens = (done: number, padding = 0) => ({ done, padding });
  const share = (rows: number, given?: ReturnType<typeof tokens>) =>
    tokenShare({ rows, padding: 0, ...(given && { tokens: given }) }, 20);
  assert.equal(share(4), 1);
  assert.equal(share(4, tokens(80)), 1);
  assert.equal(share(4, tokens(40)), 0.5);
  assert.equal(share(4, tokens(40, 120)), 2);
  assert.equal(
    tokenShare({ rows: 3, padding: 1, tokens: tokens(30, 10) }, 20),
    0.5,
  );
});

Deno.test("a task of long texts would have taken less with mean ones", () => {
  const tokens = { done: 80, padding: 0 };
  const record = { rows: 2, padding: 0, tokens, startNs: 100, endNs: 400 };
  assert.equal(meanTextsNs(record as TaskRecord, 20), 150);
});
