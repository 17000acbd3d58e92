/** `shoal simulate` over mutated configurations: it runs, or says in one line what is wrong. */
import fc from "fast-check";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { MODELS } from "../../src/models/registry.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { anyModelOptions, anyOptions } from "../engine/arbitraries.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";
import { propertyRuns } from "../property_runs.ts";
import { captured } from "./captured.ts";

/** What the engine of the language says when nothing of ours has looked at a value. */
const UNCHECKED =
  /is not a function|not iterable|Cannot (read prop|convert|set|mix)|undefined or null|Invalid (array|typed|string) |allocation failed|call stack|toISOString|is not defined|internal error/i;

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const LENGTHS: Json[] = [
  "glue.rte",
  { fixed: 3 },
  { corpus: "multi30k-en-de", max: 9 },
];
const ARRIVALS: Json[] = [
  { kind: "poisson", ratePerS: 5000 },
  { kind: "interval", ratePerS: 5000 },
  { kind: "at-once" },
  { kind: "stepping", startRatePerS: 10, factor: 2, every: 3 },
  { kind: "stepping", ratesPerS: [10, 1000], every: 3, gaps: "interval" },
  {
    kind: "trace",
    csv: "t_seconds,input_tokens,output_tokens\n0,1,1\n0.5,1,2\n1,3,1\n2,1,1\n",
    file: "log.csv",
    rateScale: 2,
  },
];
/** Options of a policy as JSON has them; a limit may also be given cell by cell. */
function anyPolicy(name: string): fc.Arbitrary<Json> {
  return fc.tuple(anyOptions(name), fc.boolean()).map(([options, byCell]) =>
    asJson({
      name,
      options: {
        ...options,
        ...(byCell && name === "cellular" &&
          { batchSizeMax: { lstm_step: 4 } }),
      },
    })
  );
}

function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value));
}

/** The first value to try of every option. */
function firstOf(
  values: Readonly<Record<string, readonly unknown[]>>,
): { [option: string]: Json } {
  return JSON.parse(JSON.stringify(
    Object.fromEntries(
      Object.entries(values).map(([option, [first]]) => [option, first]),
    ),
  ));
}

/** A configuration that is valid, up to what does not go together. */
const valid: fc.Arbitrary<Json> = fc.record({
  seed: fc.integer(),
  model: fc.constantFrom(...Object.keys(MODELS)).chain((name) =>
    anyModelOptions(name).map((options) => asJson({ name, options }))
  ),
  policies: fc.subarray(Object.keys(POLICIES), { minLength: 1, maxLength: 3 })
    .chain((names) => fc.tuple(...names.map(anyPolicy))),
  workers: fc.integer({ min: 1, max: 3 }),
  workload: fc.record({
    requests: fc.integer({ min: 1, max: 12 }),
    arrivals: fc.constantFrom(...ARRIVALS),
    vocabulary: fc.constant(5),
    lengths: fc.constantFrom(...LENGTHS),
    trees: fc.constantFrom<Json>("sst", { complete: 4 }),
    extraSteps: fc.integer({ min: 0, max: 5 }),
    deadlineNs: fc.constant(10_000_000),
  }, { requiredKeys: ["requests", "arrivals"] }),
  cost: fc.constantFrom<Json>({ constantNs: 1000 }, {
    tablesNs: { "*": [[1, 50_000], [64, 185_000]] },
  }),
  log: fc.boolean(),
});

/** Values that somebody may write where another was meant. */
const wrong: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    ...[0, -1, 0.5, 1e6, 1e9, 1e12, 1e15, 2 ** 53, 1e300, -1e300, 5e-324],
    ...[null, true, false, "", "5", "NaN", "all", [], {}, [[]], [1, 2]],
    ...[{ toString: 1 }, { length: 1e9 }, "x".repeat(5000)],
  ),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
);

/** Places in a value, as lists of keys. */
function places(
  value: Json,
  at: (string | number)[] = [],
): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [at];
  const inner = Object.entries(value).flatMap(([key, child]) =>
    places(child, [...at, key])
  );
  return [at, ...inner];
}

function mutated(
  value: Json,
  place: readonly (string | number)[],
  change: (old: Json) => Json | undefined,
): Json {
  if (place.length === 0) return change(value) ?? null;
  const copy = structuredClone(value);
  let at = copy as { [key: string]: Json };
  for (const key of place.slice(0, -1)) at = at[key] as typeof at;
  const last = place[place.length - 1];
  const changed = change(at[last]);
  if (changed === undefined) delete at[last];
  else at[last] = changed;
  return copy;
}

interface Mutation {
  readonly at: number;
  readonly kind: "replace" | "remove" | "add" | "scale";
  readonly value: Json;
  readonly key: string;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom<Mutation["kind"]>("replace", "remove", "add", "scale"),
  value: wrong,
  key: fc.constantFrom("extra", "__proto__", "toString", "profile", "schedule"),
});

function mutate(config: Json, { at, kind, value, key }: Mutation): Json {
  const all = places(config);
  return mutated(config, all[at % all.length], (old) => {
    if (kind === "remove") return undefined;
    if (kind === "scale" && typeof old === "number") return old * 1e9;
    if (kind === "add" && typeof old === "object" && old !== null) {
      if (Array.isArray(old)) return [...old, value];
      return Object.defineProperty({ ...old }, key, {
        ...{ value, enumerable: true, writable: true, configurable: true },
      });
    }
    return value;
  });
}

const folder = mkdtempSync(join(tmpdir(), "shoal-simulate-"));
const file = join(folder, "config.json");

async function check(text: string, args: readonly string[]): Promise<number> {
  writeFileSync(file, text);
  const { code, out, err } = await captured(() => main(args));
  const lines = err.split("\n").filter((line) => line.startsWith("shoal: "));
  if (code === 0) {
    assert.notEqual(out, "");
    assert.deepEqual(lines, []);
  } else {
    assert.equal(code, 2, err);
    assert.equal(out, "");
    assert.equal(lines.length, 1, err);
    assert(lines[0].length < 2100, `${lines[0].length} characters`);
    assert.doesNotMatch(err, UNCHECKED);
  }
  return code;
}

Deno.test("simulate takes the configurations that the others are mutations of", async () => {
  for (const [name, { tries, build }] of Object.entries(MODELS)) {
    const options = firstOf(tries[0]);
    const model = build({ ...options, weights: shapesOnly() });
    for (const [policy, entry] of Object.entries(POLICIES)) {
      const config = {
        model: { name, options },
        policies: [{ name: policy, options: firstOf(entry.options) }],
        workload: {
          requests: 4,
          arrivals: ARRIVALS[0],
          vocabulary: 5,
          lengths: LENGTHS[1],
          extraSteps: 1,
          trees: { complete: 4 },
        },
        cost: { constantNs: 1000 },
      };
      const code = await check(JSON.stringify(config), SIMULATE);
      const isBatched = entry.build().supports(model) === undefined;
      assert.equal(code, isBatched ? 0 : 2, `${policy} on ${name}`);
    }
  }
});

const SIMULATE = ["simulate", "--config", file, "--json"];

Deno.test("simulate runs a mutated configuration or names what is wrong with it", async () => {
  let good = 0;
  let bad = 0;
  await fc.assert(
    fc.asyncProperty(
      valid,
      fc.array(mutation, { minLength: 1, maxLength: 3 }),
      async (config, mutations) => {
        const text = JSON.stringify(mutations.reduce(mutate, config));
        if (await check(text, SIMULATE) === 0) good++;
        else bad++;
      },
    ),
    { numRuns: propertyRuns(200) },
  );
  assert(good > 0 && bad > 0, `${good} good, ${bad} bad`);
});

Deno.test("simulate answers any arguments and any text", async () => {
  const word = fc.oneof(
    fc.constantFrom("--config", "--json", "--config=", "-h", "--", "-", file),
    fc.string(),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.string(), fc.json()),
      fc.array(word, { maxLength: 4 }),
      async (text, words) => {
        await check(text, ["simulate", ...words]);
        await check(text, SIMULATE);
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

globalThis.addEventListener(
  "unload",
  () => rmSync(folder, { recursive: true }),
);
