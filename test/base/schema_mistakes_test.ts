import assert from "node:assert/strict";
import * as z from "zod";
import { schemaMistakes } from "../../src/base/schema_mistakes.ts";
import { readConfig } from "../../src/cli/simulate_config.ts";
import { modelSettings } from "../../src/server/repository/model_settings.ts";

const CONFIG = {
  model: { name: "lstm" },
  policies: [{ name: "serial" }],
  workload: { requests: 1, arrivals: { kind: "at-once" } },
  cost: { constantNs: 1 },
};

Deno.test("what may be one of several things is told as what it is nearest to", async () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ model: "lstm" }, /: "model": [^"]*expected object[^"]*, got "lstm"$/],
    [
      { model: { name: "lstmm" } },
      /: "model\.name": .*"lstm"\|"seq2seq".*, got "lstmm"$/,
    ],
    [{ model: { file: 3 } }, /: "model\.file": .*expected string.*, got 3$/],
    [
      { cost: {} },
      /: "cost\.constantNs": .*, or "cost\.profile": .*, or "cost\.tablesNs": .*, got \{\}$/,
    ],
    [
      { cost: { tablesNs: { "*": [[1, "5"]] } } },
      /: "cost\.tablesNs\.\*\.0\.1": .*expected number.*, got "5"$/,
    ],
  ];
  for (const [change, message] of cases) {
    const text = JSON.stringify({ ...CONFIG, ...change });
    await assert.rejects(readConfig(text, "a.json"), { message });
  }
});

Deno.test("a model's settings are told with what was given", () => {
  assert.throws(() => modelSettings({ cells: "laier" }, "shoal.json"), {
    message: /"cells": .*"layer"\|"model".*, or .*number.*, got "laier"$/,
  });
  assert.throws(() => modelSettings({ modle: 1 }, "shoal.json"), {
    message: /"modle".*; it takes \$schema, name, kind/,
  });
});

Deno.test("a union in a union, and more mistakes than are listed", () => {
  const inner = z.union([z.strictObject({ a: z.number() }), z.boolean()]);
  const schema = z.strictObject({
    x: z.union([z.strictObject({ y: inner }), z.string()]),
    ...Object.fromEntries(["p", "q", "r"].map((key) => [key, z.number()])),
  });
  const say = (value: unknown) => {
    const { error } = schema.safeParse(value);
    return schemaMistakes(error!.issues, value);
  };
  const rest = { p: 1, q: 1, r: 1 };
  assert.match(
    say({ ...rest, x: { y: { a: "b" } } }),
    /^"x\.y\.a": .*number.*, or .*"x": .*string/,
  );
  assert.match(say({ x: 1 }), /; and 1 more$/);
});
