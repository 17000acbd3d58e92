/** Commands on files that are one step of a decoder. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { DecoderInput } from "../../src/onnx/decoder/decoder_model.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { tinyDecoder } from "../onnx/decoder_files.ts";
import { decodePlain } from "../onnx/plain_decoding.ts";
import { node, writeModel } from "../onnx/write_model.ts";
import { captured } from "./captured.ts";

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-decoder-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("inspect and run take a file that is one step of a decoder", async () => {
  await inFolder(async (folder) => {
    const file = tinyDecoder({
      ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
      ...{ layers: 1, heads: 2, size: 4, vocabulary: 19, seed: 6 },
    });
    const path = join(folder, "step.onnx");
    writeFileSync(path, file);
    const asked = ["run", path, "--decoder", "--tokens", "3,1,4"];
    const { out, err } = await captured(() => main([...asked, "--steps", "5"]));
    const states = {
      "past_key_values.0.key": "present.0.key",
      "past_key_values.0.value": "present.0.value",
    };
    const { ids } = decodePlain(readModel(file), states, {
      ...{ tokens: [3, 1, 4], steps: 5, stop: [] },
    });
    assert.deepEqual(
      JSON.parse(out),
      { tokens: { shape: [5], data: ids } },
      err,
    );
    const stopped = await captured(() =>
      main([...asked, "--stop", `${ids[1]}`, "--positions-max", "20"])
    );
    const last = ids.indexOf(ids[1]) + 1;
    assert.deepEqual(
      JSON.parse(stopped.out).tokens.data,
      ids.slice(0, last),
      stopped.err,
    );

    const about = await captured(() =>
      main(["inspect", path, "--decoder", "--json"])
    );
    const { positionsMax, cells, inputs } = JSON.parse(about.out);
    assert.deepEqual([positionsMax, inputs], [40, []], about.err);
    assert.deepEqual(
      cells.map(({ name }: { name: string }) => name.split("/").at(-1)),
      ["prefill", "step"],
    );
    const text = await captured(() => main(["inspect", path, "--decoder"]));
    assert.match(text.out, /a decoder of up to 40 positions a request/);

    const draw = async (...settings: string[]): Promise<number[]> => {
      const { out, err, code } = await captured(() =>
        main([...asked, "--steps", "9", ...settings])
      );
      assert.equal(code, 0, err);
      return JSON.parse(out).tokens.data;
    };
    const model = await loadOnnx(file, {
      decoder: { sample: true, penalties: true },
    });
    const drawnAs = async (settings: Partial<DecoderInput>) => {
      const engine = await ServingEngine.create({
        models: [model],
        policy: serial(),
        workers: 0,
      });
      const tokens = [3, 1, 4];
      const { outputs } = await engine.run(model, {
        ...{ tokens, maxSteps: 9 },
        ...settings,
      });
      await engine.close();
      return [...outputs.tokens.data];
    };
    const hot = ["--temperature", "9"];
    assert.deepEqual(
      await draw(...hot, "--seed", "7", "--top-k", "5", "--top-p", "0.9"),
      await drawnAs({ temperature: 9, seed: 7, topK: 5, topP: 0.9 }),
    );
    assert.deepEqual(await draw(...hot), await drawnAs({ temperature: 9 }));
    assert.notDeepEqual(await draw(...hot), await draw(...hot, "--seed", "8"));
    assert.deepEqual(
      await draw(...hot, "--min-p", "0.9"),
      await drawnAs({ temperature: 9, minP: 0.9 }),
    );
    const changed = await draw(
      ...["--repetition-penalty", "1.5", "--presence-penalty", "0.1"],
      ...["--frequency-penalty", "0.2", "--no-repeat-ngram-size", "2"],
      ...["--min-tokens", "3"],
    );
    assert.deepEqual(
      changed,
      await drawnAs({
        ...{ repetitionPenalty: 1.5, presencePenalty: 0.1 },
        ...{ frequencyPenalty: 0.2, noRepeatNgramSize: 2, minTokens: 3 },
      }),
    );
    assert.notDeepEqual(changed, await draw());
    assert.deepEqual(
      await draw(...hot, "--top-k", "1"),
      await draw(),
      "the best of one",
    );

    for (
      const [options, expected] of [
        [["--tokens", "1", "--seed", "2"], /--seed is one of --temperature/],
        [["--tokens", "1", "--temperature", "0"], /a number above 0, got "0"/],
        [
          ["--tokens", "1", "--temperature", "1", "--top-p", "2"],
          /above 0 and up to 1, got "2"/,
        ],
        [["--tokens", "1", "--min-p", "1"], /--min-p is one of --temperature/],
        [
          ["--tokens", "1", "--repetition-penalty", "0"],
          /--repetition-penalty is a number above 0, got "0"/,
        ],
        [
          ["--tokens", "1", "--presence-penalty", "x"],
          /--presence-penalty is a number that f32 has, got "x"/,
        ],
        [["--tokens", "99"], /tokens\[0\] .* is 99; ids are/],
        [["--tokens", "a"], /each of --tokens/],
        [["--tokens", Array(41).fill(1).join()], /--tokens are 41, .* 40 pos/],
        [
          ["--tokens", "1,2", "--steps", "40"],
          /--steps is an integer from 1 to 39, got "40"/,
        ],
        [[], /--tokens are missing/],
        [["--tokens", "1", "--stop", "19"], /There is no token 19 to stop at/],
        [["--tokens", "1", "--size-max", "n=3"], /size "n": no input has it/],
        [["--tokens", "1", "--cells", "layer"], /--cells is none of/],
        [["--tokens", "1", "--input", "h=h.json"], /there is no input "h"/],
        [["--tokens", "1", "--state", "a=b"], /there is no such input/],
      ] as const
    ) {
      const { code, err } = await captured(() =>
        main(["run", path, "--decoder", ...options])
      );
      assert.notEqual(code, 0);
      assert.match(err, expected);
    }
    const alone = await captured(() => main(["run", path, "--top-k", "1"]));
    assert.match(alone.err, /--top-k is one of --decoder, which is missing/);
    const lonely = await captured(() => main(["run", path, "--tokens", "1"]));
    assert.match(lonely.err, /--tokens is one of --decoder, which is missing/);
  });
});

Deno.test("run takes what a decoder's request brings besides tokens", async () => {
  await inFolder(async (folder) => {
    const path = join(folder, "step.onnx");
    writeFileSync(
      path,
      writeModel({
        graph: {
          inputs: [
            { name: "input_ids", type: "int64", dims: [1, 1] },
            { name: "h", dims: [1, null, 2] },
          ],
          outputs: [{ name: "logits" }, { name: "next" }],
          initializers: {
            table: plainOf("float32", [3, 2], [1, -1, 0.5, 2, -2, 0.3]),
            w: plainOf("float32", [2, 3], [1, -2, 0.7, 0.4, 2, -1]),
          },
          nodes: [
            node("Gather", ["table", "input_ids"], ["row"]),
            node("Add", ["row", "h"], ["next"]),
            node("MatMul", ["next", "w"], ["logits"]),
          ],
        },
      }),
    );
    const h = join(folder, "h.json");
    writeFileSync(h, "[[[9, -30]]]");
    const asked = [
      ...["run", path, "--decoder", "--state", "h=next", "--tokens", "1"],
      ...["--steps", "6", "--shape", "h=1,1,2"],
    ];
    const model = await loadOnnx(path, {
      shapes: { h: [1, 1, 2] },
      decoder: { states: { h: "next" } },
    });
    const engine = await ServingEngine.create({
      models: [model],
      policy: serial(),
      workers: 0,
    });
    const wanted: number[][] = [];
    for (const given of [undefined, Float32Array.of(9, -30)]) {
      const { outputs } = await engine.run(model, {
        ...{ tokens: [1], maxSteps: 6 },
        ...(given && { inputs: { h: given } }),
      });
      wanted.push([...outputs.tokens.data]);
      const options = given ? ["--input", `h=${h}`] : [];
      const { out, err } = await captured(() => main([...asked, ...options]));
      assert.notEqual(out, "", err);
      assert.deepEqual(JSON.parse(out).tokens.data, wanted.at(-1));
    }
    await engine.close();
    assert.notDeepEqual(wanted[0], wanted[1]);
  });
});
