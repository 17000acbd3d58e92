/** What bench:onnx is made of, without the peer. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drawnInput, stacked } from "../../../bench/onnx/inputs.ts";
import type { FileResult } from "../../../bench/onnx/measure.ts";
import { hasFreeBatch } from "../../../bench/onnx/peer.ts";
import { onnxSettings, type OnnxValues } from "../../../bench/onnx/settings.ts";
import { filesTable, refusals } from "../../../bench/onnx/table.ts";
import { timePerRequest } from "../../../bench/onnx/timing.ts";
import { Prng } from "../../../src/base/prng.ts";
import { UsageError } from "../../../src/cli/terminal.ts";

/** A folder of a few files, gone afterwards. */
function withFolder(run: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "shoal-onnx-"));
  try {
    mkdirSync(join(folder, "inner"));
    mkdirSync(join(folder, "empty"));
    for (const name of ["b.onnx", "a.txt", join("inner", "model.onnx")]) {
      writeFileSync(join(folder, name), "");
    }
    run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("files: those given, once, and those in folders; model.onnx is called as its folder", () => {
  withFolder((folder) => {
    const { files } = onnxSettings({}, [folder, join(folder, "b.onnx")]);
    assert.deepEqual(files, [
      { path: join(folder, "b.onnx"), name: "b" },
      { path: join(folder, "inner", "model.onnx"), name: "inner" },
    ]);
  });
});

Deno.test("options, and what is refused", () => {
  withFolder((folder) => {
    const { files: _, ...defaults } = onnxSettings({}, [folder]);
    assert.deepEqual(defaults, {
      ...{ policy: "cellular", inFlight: 64, batchMax: 64 },
      ...{ maxId: 100, sizes: {} },
      ...{ rounds: 5, roundMs: 200, seed: 1 },
    });
    const given = onnxSettings({
      ...{ policy: "lazy", "in-flight": "8", "max-id": "7", quick: true },
      size: ["sequence=128", "past=1"],
    }, [folder]);
    assert.deepEqual(
      [given.policy, given.inFlight, given.batchMax, given.maxId, given.rounds],
      ["lazy", 8, 8, 7, 2],
    );
    assert.deepEqual(given.sizes, { sequence: 128, past: 1 });
    for (
      const [values, paths, message] of [
        [{}, [], /Which models\? Give .onnx files, or folders/],
        [{}, ["no/such"], /There is no "no\/such"; give .onnx files/],
        [{}, [join(folder, "empty")], /There is no .onnx file in ".*empty"/],
        [{ policy: "none" }, [folder], /--policy "none" does not exist/],
        [{ "in-flight": "0" }, [folder], /--in-flight is an integer from 1/],
        [{ batch: "0" }, [folder], /--batch is an integer from 1/],
        [{ "max-id": "-1" }, [folder], /--max-id is an integer from 1/],
        [{ size: ["n"] }, [folder], /as sequence=128, got "n"/],
        [{ size: ["=2"] }, [folder], /as sequence=128, got "=2"/],
        [{ size: ["n=0"] }, [folder], /--size n is an integer from 1/],
      ] as [OnnxValues, string[], RegExp][]
    ) {
      assert.throws(
        () => onnxSettings(values, paths),
        (error) => error instanceof UsageError && message.test(error.message),
        `${message}`,
      );
    }
  });
});

Deno.test("inputs have their types' elements, the same of one seed", () => {
  const specs = [
    { name: "x", dtype: "f32", shape: [2, 300] },
    { name: "ids", dtype: "i64", shape: [1, 300] },
    { name: "mask", dtype: "bool", shape: [300] },
    { name: "scalar", dtype: "i32", shape: [] },
  ] as const;
  const input = drawnInput(specs, new Prng(3), 5);
  assert.deepEqual(input, drawnInput(specs, new Prng(3), 5));
  assert.deepEqual(
    specs.map(({ name }) => input[name].length),
    [600, 300, 300, 1],
  );
  const among = (name: string) =>
    [...new Set([...input[name]].map(Number))].sort();
  assert.deepEqual(among("ids"), [0, 1, 2, 3, 4]);
  assert.deepEqual(among("mask"), [0, 1]);
  assert(among("x").every((value) => value >= -1 && value < 1));
  assert(Math.min(...among("x")) < -0.9 && Math.max(...among("x")) > 0.9);
  assert.deepEqual(
    stacked([{ x: Float32Array.of(1, 2) }, { x: Float32Array.of(3, 4) }]),
    { x: Float32Array.of(1, 2, 3, 4) },
  );
});

Deno.test("a batch is free if every input and output leaves its first axis open", () => {
  const value = (...dims: (number | string | null)[]) => ({
    ...{ name: "x", type: "float32" as const, dims },
  });
  const free = (...inputs: ReturnType<typeof value>[]) =>
    hasFreeBatch({ inputs, outputs: [value("n", 10)] });
  assert(free(value("n", 3)));
  assert(free(value(null, 3), value("n")));
  assert(!free(value("n", 3), value(1, 3)));
  assert(!free(value("n", 3), value()));
  assert(
    !hasFreeBatch({ inputs: [value("n")], outputs: [value(1)] }),
  );
});

Deno.test("so many requests are in flight, every lane at least once", async () => {
  const asked: number[] = [];
  let flying = 0;
  let most = 0;
  const ask = async (i: number) => {
    asked.push(i);
    most = Math.max(most, ++flying);
    await Promise.resolve();
    flying--;
  };
  const ms = await timePerRequest(ask, { lanes: 5, leastMs: 0 });
  assert.deepEqual(asked, [0, 1, 2, 3, 4]);
  assert.equal(most, 5);
  assert(ms > 0);
});

Deno.test("the table: figures, a file without free batches, and one that is refused", () => {
  const measured: FileResult = {
    ...{ name: "net", path: "/net.onnx", cells: 3, notes: [], difference: 0 },
    loadMs: { load: 1.234, ready: 20.04, peer: 300.4 },
    bestMs: { alone: 0.5, peerAlone: 1, inFlight: 0.1, peerBatch: 0.4 },
    roundsMs: { alone: [], peerAlone: [], inFlight: [] },
    ratios: { alone: 2, inFlight: 10, batch: 4 },
  };
  const { peerBatch: _, ...bestMs } = measured.bestMs;
  const fixed: FileResult = {
    ...{ ...measured, name: "fixed", bestMs },
    ratios: { alone: 2, inFlight: 10 },
  };
  const bad = { name: "bad", path: "/bad.onnx", refused: "Shoal: no model" };
  const results = [measured, fixed, bad];
  const { columns, rows } = filesTable(results, 64);
  assert.deepEqual(columns.map(({ title }) => title), [
    ...["model", "alone, ms", "ort, ms", "over it"],
    ...["64 at once, /s", "over it", "ort of 64, /s", "over it"],
    ...["load, ms", "ready, ms", "session, ms"],
  ]);
  const loads = ["1.23", "20.0", "300"];
  const own = ["0.500", "1.00", "2.00x", "10000", "10.00x"];
  assert.deepEqual(rows.map((row) => row?.map(({ text }) => text)), [
    ["net", ...own, "2500", "4.00x", ...loads],
    ["fixed", ...own, "-", "-", ...loads],
    ["bad", ...Array.from({ length: 10 }, () => "-")],
  ]);
  assert.deepEqual(refusals(results), ["/bad.onnx: Shoal: no model"]);
});
