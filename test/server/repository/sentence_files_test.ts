/** Files of sentence-transformers in a model's folder: what is behind a text's tokens. */
import assert from "node:assert/strict";
import { plainOf } from "../../../src/tensor/plain_tensor.ts";
import { node, writeModel } from "../../onnx/write_model.ts";
import { safetensors, scaleFile, TEXT_FILE, TOKENIZER } from "./folders.ts";
import type { TestFolder } from "./folders.ts";
import { type Open, withFolder } from "./with_folder.ts";

Deno.test("rows that are pooled in a way that is not known are not served, unless the settings say how", async () => {
  await withFolder((folder) => {
    for (const name of ["told", "untold"]) {
      folder.write(`${name}/model.onnx`, TEXT_FILE);
      folder.write(`${name}/tokenizer.json`, TOKENIZER);
      folder.write(`${name}/1_Pooling/config.json`, {
        pooling_mode_max_tokens: true,
      });
    }
    folder.write("told/shoal.json", { text: { pooling: "cls" } });
  }, async ({ repository, host }) => {
    const failed = await repository.sync();
    assert.match(
      failed.get("untold") ?? "",
      /1_Pooling\/config.json has pooling_mode_max_tokens/,
    );
    assert.deepEqual(host.models.map(({ name }) => name), ["told"]);
  });
});

/** TEXT_FILE's rows of tokens, and rows of a text beside them. */
function rowsFile(name: string) {
  return writeModel({
    graph: {
      inputs: [
        { name: "input_ids", type: "int64", dims: ["batch", "sequence"] },
      ],
      outputs: [{ name: "last_hidden_state" }, { name }],
      initializers: {
        words: plainOf("float32", [4, 2], [0, 0, 1, 2, 3, 4, 5, 6]),
        first: plainOf("int64", [], [0]),
      },
      nodes: [
        node("Gather", ["words", "input_ids"], ["last_hidden_state"]),
        node("Gather", ["last_hidden_state", "first"], [name], { axis: 1 }),
      ],
    },
  });
}

const LIBRARY = "sentence_transformers.models";
const FIRST = [
  [1.5, -0.25],
  [0.5, 1],
  [-2, 0.125],
];
const FIRST_BIAS = [0.5, -1, 0.25];
const SECOND = [[1, 0.5, -0.75], [0.25, -1, 2]];

/** Widens by a layer of tanh, and narrows by one without a bias, of 16 bits. */
function writeSentences(
  folder: TestFolder,
  name: string,
  onnx: Uint8Array = TEXT_FILE,
): void {
  const types = ["Transformer", "Pooling", "Dense", "Dense", "Normalize"];
  folder.write(`${name}/model.onnx`, onnx);
  folder.write(`${name}/tokenizer.json`, TOKENIZER);
  folder.write(
    `${name}/modules.json`,
    types.map((type, idx) => ({
      ...{ idx, name: `${idx}`, path: idx === 0 ? "" : `${idx}_${type}` },
      type: `${LIBRARY}.${type}`,
    })),
  );
  folder.write(`${name}/1_Pooling/config.json`, { pooling_mode: "mean" });
  folder.write(`${name}/2_Dense/config.json`, {
    ...{ in_features: 2, out_features: 3, bias: true },
    activation_function: "torch.nn.modules.activation.Tanh",
  });
  folder.write(
    `${name}/2_Dense/model.safetensors`,
    safetensors({
      "linear.weight": { shape: [3, 2], data: Float32Array.from(FIRST.flat()) },
      "linear.bias": { shape: [3], data: Float32Array.from(FIRST_BIAS) },
    }),
  );
  folder.write(`${name}/3_Dense/config.json`, {
    ...{ in_features: 3, out_features: 2, bias: false },
    activation_function: "torch.nn.modules.linear.Identity",
  });
  const bits = new Uint32Array(Float32Array.from(SECOND.flat()).buffer);
  folder.write(
    `${name}/3_Dense/model.safetensors`,
    safetensors({
      "linear.weight": {
        ...{ dtype: "BF16", shape: [2, 3] },
        data: Uint16Array.from(bits, (x) => x >>> 16),
      },
    }),
  );
}

/** Of the mean of its words' rows. */
function expected(...words: number[][]): number[] {
  const mean = [0, 1].map((i) =>
    words.reduce((sum, word) => sum + word[i], 0) / words.length
  );
  const times = (rows: number[][], x: number[]) =>
    rows.map((row) => row.reduce((sum, w, i) => sum + w * x[i], 0));
  const wide = times(FIRST, mean).map((x, i) => Math.tanh(x + FIRST_BIAS[i]));
  return times(SECOND, wide);
}

function isNear(actual: readonly number[], expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  for (const [i, value] of expected.entries()) {
    assert(Math.abs(actual[i] - value) < 1e-6, `${actual} and ${expected}`);
  }
}

function unit(row: readonly number[]): number[] {
  const length = Math.hypot(...row);
  return row.map((x) => x / length);
}

async function post({ ask }: Open, path: string, body: unknown) {
  const response = await ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, path);
  return await response.json();
}

Deno.test("a text's row goes through the folder's layers, through every door, whatever its batch", async () => {
  await withFolder(
    (folder) => writeSentences(folder, "words"),
    async (open) => {
      assert.deepEqual([...await open.repository.sync()], []);
      const rows = [
        expected([1, 2], [5, 6]),
        expected([3, 4]),
        expected([5, 6], [0, 0], [1, 2]),
      ];
      const inputs = ["fish birds", "swim", "birds fly fish"];
      const raw = await post(open, "/embed", { inputs, normalize: false });
      const normed = await post(open, "/embed", { inputs });
      const { data } = await post(open, "/v1/embeddings", {
        ...{ model: "words", input: inputs, encoding_format: "float" },
      });
      for (const [i, row] of rows.entries()) {
        isNear(raw[i], row);
        isNear(normed[i], unit(row));
        assert.deepEqual(data[i].embedding, normed[i]);
        const alone = await post(open, "/embed", { inputs: inputs[i] });
        assert.deepEqual(alone, [normed[i]]);
      }
      const { data: [{ embedding: first }] } = await post(
        open,
        "/v1/embeddings",
        { model: "words", input: "swim", dimensions: 1 },
      );
      assert.equal(Math.abs(first[0]), 1);
    },
  );
});

Deno.test("a model that has a text's row among its outputs has all of it in it", async () => {
  await withFolder((folder) => {
    writeSentences(folder, "whole", rowsFile("sentence_embedding"));
    folder.remove("whole/2_Dense");
    folder.write("whole/modules.json", [{}, { type: "custom.Module" }]);
    // What a model makes of [CLS] by itself is not what the files say.
    writeSentences(folder, "own", rowsFile("pooler_output"));
    writeSentences(folder, "asked", rowsFile("pooler_output"));
    folder.write("asked/shoal.json", { text: { output: "pooler_output" } });
  }, async (open) => {
    assert.deepEqual([...await open.repository.sync()], []);
    const embed = async (name: string) => {
      const body = { inputs: "fish birds", normalize: false };
      const [row] = await post(open, `/models/${name}/embed`, body);
      return row;
    };
    assert.deepEqual(await embed("whole"), [1, 2]);
    assert.deepEqual(await embed("asked"), [1, 2]);
    isNear(await embed("own"), expected([1, 2], [5, 6]));
  });
});

Deno.test("a folder whose layers cannot be computed is not served, and says what to do", async () => {
  const cases: Readonly<
    Record<string, [(folder: TestFolder) => void, RegExp]>
  > = {
    pickled: [
      (folder) => {
        folder.remove("pickled/3_Dense/model.safetensors");
        folder.write("pickled/3_Dense/pytorch_model.bin", Uint8Array.of(1));
      },
      /3_Dense has no model.safetensors, and pytorch_model.bin is not read: write it anew, .*save_file/,
    ],
    empty: [
      (folder) => folder.remove("empty/2_Dense"),
      /modules.json names 2_Dense, which has no config.json/,
    ],
    weightless: [
      (folder) => folder.remove("weightless/2_Dense/model.safetensors"),
      /2_Dense has no model.safetensors$/,
    ],
    strange: [
      (folder) =>
        folder.write("strange/2_Dense/config.json", {
          ...{ in_features: 2, out_features: 3, bias: true },
          activation_function: "torch.nn.modules.activation.Mish",
        }),
      /2_Dense\/config.json: "activation_function" is one of .*Mish"/,
    ],
    wide: [
      (folder) => {
        const weight = { shape: [2, 4], data: new Float32Array(8) };
        folder.write("wide/3_Dense/config.json", {
          ...{ in_features: 4, out_features: 2, bias: false },
        });
        folder.write(
          "wide/3_Dense/model.safetensors",
          safetensors({ "linear.weight": weight }),
        );
      },
      /Layer 1 of "dense" takes rows of 4, layer 0 makes rows of 3/,
    ],
    unnamed: [
      (folder) => folder.remove("unnamed/modules.json"),
      /There is "2_Dense", but no modules.json/,
    ],
    unpooled: [
      (folder) => folder.remove("unpooled/1_Pooling"),
      /modules.json names 1_Pooling, which has no config.json; say with "pooling"/,
    ],
    outside: [
      (folder) =>
        folder.write("outside/modules.json", [{}, {
          ...{ type: `${LIBRARY}.Dense`, path: "../empty" },
        }]),
      /"path" of Dense is a folder beside it, got "..\/empty"/,
    ],
  };
  await withFolder((folder) => {
    writeSentences(folder, "good");
    for (const [name, [spoil]] of Object.entries(cases)) {
      writeSentences(folder, name);
      spoil(folder);
    }
    // Who takes no texts has no use for them.
    writeSentences(folder, "tensors", scaleFile(2));
    folder.remove("tensors/tokenizer.json");
    folder.remove("tensors/2_Dense");
  }, async ({ repository, host }) => {
    const failed = await repository.sync();
    assert.deepEqual([...failed.keys()].sort(), Object.keys(cases).sort());
    for (const [name, [, message]] of Object.entries(cases)) {
      assert.match(failed.get(name) ?? "", message);
    }
    assert.deepEqual(host.models.map(({ name }) => name), ["good", "tensors"]);
  });
});

Deno.test("a folder's prompts stand in front of texts through every door, and its lower case counts", async () => {
  await withFolder((folder) => {
    for (const name of ["plain", "asked"]) {
      folder.write(`${name}/model.onnx`, TEXT_FILE);
      folder.write(`${name}/tokenizer.json`, TOKENIZER);
      folder.write(`${name}/1_Pooling/config.json`, {
        ...{ pooling_mode: "mean", include_prompt: name === "plain" },
      });
    }
    folder.write("asked/sentence_bert_config.json", { do_lower_case: true });
    folder.write("asked/config_sentence_transformers.json", {
      prompts: { query: "Swim ", document: "birds birds " },
      default_prompt_name: "query",
    });
    folder.write("broken/model.onnx", TEXT_FILE);
    folder.write("broken/tokenizer.json", TOKENIZER);
    folder.write("broken/config_sentence_transformers.json", {
      ...{ prompts: {}, default_prompt_name: "query" },
    });
  }, async (open) => {
    const failed = await open.repository.sync();
    assert.deepEqual([...failed.keys()], ["broken"]);
    assert.match(failed.get("broken")!, /"default_prompt_name" is one of none/);
    const tokens = async (name: string, body: object) =>
      await post(open, `/models/${name}/embed_all`, {
        inputs: "Fish",
        ...body,
      });
    assert.deepEqual(await tokens("plain", {}), [[[0, 0]]]);
    assert.deepEqual(await tokens("asked", {}), [[[3, 4], [1, 2]]]);
    const document = { prompt_name: "document" };
    const rows = [[5, 6], [5, 6], [1, 2]];
    assert.deepEqual(await tokens("asked", document), [rows]);
    const raw = { inputs: "Fish", normalize: false };
    for (const body of [raw, { ...raw, ...document }]) {
      assert.deepEqual(await post(open, "/models/asked/embed", body), [[1, 2]]);
    }
    const ids = await post(open, "/models/asked/tokenize", { inputs: "Fish" });
    assert.deepEqual(ids[0].map(({ id }: { id: number }) => id), [2, 1]);
    const { data } = await post(open, "/v1/embeddings", {
      ...{ model: "asked", input: "Fish", encoding_format: "float" },
    });
    isNear(data[0].embedding, unit([1, 2]));
  });
});

Deno.test("a text has the tokens that a folder's file of sentence-transformers says, by its older names, too", async () => {
  const kinds = ["bert", "distilbert", "xlm-roberta", "xlnet"];
  await withFolder((folder) => {
    for (const name of [...kinds, "none"]) {
      folder.write(`${name}/model.onnx`, TEXT_FILE);
      folder.write(`${name}/tokenizer.json`, TOKENIZER);
      if (name === "none") continue;
      folder.write(`${name}/sentence_${name}_config.json`, {
        ...{ max_seq_length: 3, do_lower_case: true },
      });
    }
    folder.write("bert/sentence_roberta_config.json", { max_seq_length: 2 });
  }, async (open) => {
    assert.deepEqual([...await open.repository.sync()], []);
    const words = { inputs: "Fish swim birds fish fish" };
    const tokens = async (name: string) =>
      await post(open, `/models/${name}/embed_all`, words);
    for (const name of kinds) {
      const rows = [[1, 2], [3, 4], [5, 6]];
      assert.deepEqual(await tokens(name), [rows], name);
    }
    assert.equal((await tokens("none"))[0].length, 5);
  });
});

Deno.test("a folder with a tokenizer of another form says what to do, whether it can be served or not", async () => {
  await withFolder((folder) => {
    for (const name of ["open", "fixed", "none", "meant"]) {
      folder.write(`${name}/model.onnx`, TEXT_FILE);
      if (name !== "none") folder.write(`${name}/vocab.txt`, {});
    }
    const sizes_max = { sequence: 4 };
    folder.write("fixed/shoal.json", { sizes_max });
    folder.write("meant/shoal.json", { sizes_max, kind: "tensors" });
  }, async ({ repository, host }) => {
    const failed = await repository.sync();
    assert.deepEqual([...failed.keys()], ["none", "open"]);
    const lack = /there is vocab.txt, but no tokenizer.json, .*AutoTokenizer/;
    const open = failed.get("open")!;
    assert.match(open, lack);
    assert.match(open, /; without it: .*give "sizes"/);
    assert.doesNotMatch(failed.get("none")!, /tokenizer/);
    const [fixed, meant] = ["fixed", "meant"].map((name) => host.find(name));
    assert.match(`${fixed.notes}`, lack);
    assert.deepEqual([fixed.notes?.length, meant.notes], [1, undefined]);
  });
});

Deno.test("settings say which prompt stands in front of texts, or that none does", async () => {
  const named = { plain: undefined, off: null, other: "bird", wrong: "fly" };
  await withFolder((folder) => {
    for (const [name, default_prompt_name] of Object.entries(named)) {
      folder.write(`${name}/model.onnx`, TEXT_FILE);
      folder.write(`${name}/tokenizer.json`, TOKENIZER);
      folder.write(`${name}/config_sentence_transformers.json`, {
        prompts: { swimmer: "swim ", bird: "birds " },
        default_prompt_name: "swimmer",
      });
      folder.write(`${name}/shoal.json`, { text: { default_prompt_name } });
    }
  }, async (open) => {
    const failed = await open.repository.sync();
    assert.deepEqual(Object.fromEntries(failed), {
      wrong:
        'Model "wrong" cannot be loaded: "default_prompt_name" is the name of one of the model\'s prompts, swimmer, bird, got "fly"',
    });
    const tokens = async (name: string, more: object = {}) =>
      await post(open, `/models/${name}/embed_all`, {
        inputs: "fish",
        ...more,
      });
    const [fish, swim, birds] = [[1, 2], [3, 4], [5, 6]];
    assert.deepEqual(await tokens("plain"), [[swim, fish]]);
    assert.deepEqual(await tokens("off"), [[fish]]);
    assert.deepEqual(await tokens("off", { prompt_name: "bird" }), [
      [birds, fish],
    ]);
    assert.deepEqual(await tokens("other"), [[birds, fish]]);
  });
});

Deno.test("a folder of sentence-transformers embeds, whatever its architecture, and one whose settings say so", async () => {
  const architectures = ["Qwen3ForCausalLM"];
  await withFolder((folder) => {
    writeSentences(folder, "named");
    for (const name of ["named", "told", "scores", "untold"]) {
      folder.write(`${name}/model.onnx`, TEXT_FILE);
      folder.write(`${name}/tokenizer.json`, TOKENIZER);
      folder.write(`${name}/config.json`, { architectures, eos_token_id: 1 });
      folder.write(`${name}/generation_config.json`, { min_p: 0.1 });
    }
    folder.write("told/shoal.json", { kind: "embedding" });
    folder.write("scores/shoal.json", { kind: "classifier" });
  }, async (open) => {
    const failed = await open.repository.sync();
    assert.deepEqual([...failed.keys()], ["untold"]);
    assert.deepEqual(
      open.host.models.map(({ name, kind, notes }) => [name, kind, notes]),
      [
        ["named", "embedding", undefined],
        ["scores", "classifier", undefined],
        ["told", "embedding", undefined],
      ],
    );
    const raw = { inputs: "fish", normalize: false };
    const [named] = await post(open, "/models/named/embed", raw);
    isNear(named, expected([1, 2]));
    assert.deepEqual(await post(open, "/models/told/embed", raw), [[1, 2]]);
  });
});
