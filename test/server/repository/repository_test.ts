/** A folder of models: what its files become, and what is told of those that become none. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { FolderFiles } from "../../../src/cli/serve/folder_files.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import type { ModelFiles } from "../../../src/server/repository/model_files.ts";
import { Repository } from "../../../src/server/repository/repository.ts";
import { seededWeights } from "../../../src/tensor/weights.ts";
import { node, writeModel } from "../../onnx/write_model.ts";
import {
  PRODUCT_FILE,
  safetensors,
  scaleFile,
  STREAM_FILE,
  TestFolder,
  TEXT_FILE,
  TOKENIZER,
} from "./folders.ts";
import { scaled, withFolder } from "./with_folder.ts";

Deno.test("folders become models, of each kind", async () => {
  const weights = new Map<string, { shape: number[]; data: Float32Array }>();
  const seeded = seededWeights(3);
  const built = lstm({
    hidden: 4,
    vocabulary: 6,
    weights: (name, shape, fanIn, around) => {
      const tensor = seeded(name, shape, fanIn, around);
      weights.set(name, { shape: [...tensor.shape], data: tensor.data });
      return tensor;
    },
  });
  await withFolder((folder) => {
    folder.write("fixed/model.onnx", PRODUCT_FILE);
    folder.write("fixed/shoal.json", { constants: { w: 7 } });
    folder.write("scale/model.onnx", scaleFile(3));
    folder.write("sums/model.onnx", STREAM_FILE);
    folder.write("sums/config.json", {
      states: { before: "after" },
      sample_rate: 8000,
    });
    // Where repositories of Hugging Face's hub have it, with other weights beside it.
    folder.write("words/onnx/model.onnx", TEXT_FILE);
    folder.write("words/model.safetensors", new Uint8Array(8));
    folder.write("words/tokenizer.json", TOKENIZER);
    folder.write("words/config.json", {
      model_type: "bert",
      architectures: ["BertModel"],
      max_position_embeddings: 16,
    });
    folder.write("words/shoal.json", {
      auto_truncate: false,
      max_client_batch_size: 2,
    });
    folder.write(
      "sentences/model.safetensors",
      safetensors(Object.fromEntries(weights)),
    );
    folder.write("sentences/shoal.json", {
      model: { name: "lstm", options: { hidden: 4, vocabulary: 6 } },
      parameters: { team: "mine" },
    });
    folder.write("many/1/model.onnx", scaleFile(10));
    folder.write("many/3/model.onnx", scaleFile(30));
    folder.write("many/12/model.onnx", scaleFile(120));
    folder.write("many/shoal.json", {
      version_policy: { latest: { num_versions: 2 } },
      output: [{ name: "y", data_type: "TYPE_FP64" }],
    });
  }, async ({ host, repository, ask }) => {
    assert.deepEqual([...await repository.sync()], []);
    const kinds = host.models.map((
      { name, version, kind },
    ) => [name, version, kind]);
    assert.deepEqual(kinds, [
      ["fixed", "1", "tensors"],
      ["many", "3", "tensors"],
      ["many", "12", "tensors"],
      ["scale", "1", "tensors"],
      ["sentences", "1", "tensors"],
      ["sums", "1", "stream"],
      ["words", "1", "embedding"],
    ]);
    assert.deepEqual(await scaled(ask, "/v2/models/scale/infer"), [3, 6]);
    assert.deepEqual(await scaled(ask, "/v2/models/fixed/infer"), [7, 14]);
    assert.deepEqual(await scaled(ask, "/v2/models/many/infer"), [120, 240]);
    assert.deepEqual(await scaled(ask, "/v2/models/many/versions/3/infer"), [
      30,
      60,
    ]);
    const [y] = host.find("many").outputs;
    assert.equal(y.datatype, "FP64");
    const sentences = host.find("sentences");
    const { outputs } = await host.run(sentences, { tokens: [1, 5] });
    const other = await EngineHost.create({
      models: [{ ...sentences, model: built }],
      policy: () => cellular(),
      engine: { workers: 0, warmUp: false },
    });
    const expected = await other.run(other.find("sentences"), {
      tokens: [1, 5],
    });
    assert.deepEqual(outputs, expected.outputs);
    await other.close();
    const config = await (await ask("/v2/models/sentences/config")).json();
    assert.deepEqual(config.parameters, { team: "mine" });
    const words = host.find("words");
    const embed = async (inputs: unknown) =>
      (await ask("/models/words/embed", {
        method: "POST",
        body: JSON.stringify({ inputs }),
      })).status;
    assert.equal(await embed(["fish", "fish"]), 200);
    assert.equal(await embed(["fish", "fish", "fish"]), 413);
    assert.equal(await embed("fish ".repeat(17)), 422);
    assert.equal(words.text?.tokensMax, 16);
    const [{ embedding }] = await words.text!.embed(
      (input, options) => host.run(words, input, options),
      ["fish birds"],
      { normalize: false },
    );
    assert.deepEqual([...embedding], [3, 4]);
    const session = host.open(host.find("sums"));
    for (const sum of [[1, 2], [2, 4]]) {
      const { outputs } = await session.push({ x: Float32Array.of(1, 2) });
      assert.deepEqual([...outputs["sum"].data], sum);
    }
  });
});

Deno.test("what has changed in the folder is loaded, and nothing else", async () => {
  await withFolder((folder) => {
    folder.write("a/model.onnx", scaleFile(1));
    folder.write("b/model.onnx", scaleFile(1));
  }, async ({ folder, repository, host }) => {
    await repository.sync();
    const [a, b] = [host.find("a"), host.find("b")];
    await repository.sync();
    assert.deepEqual(host.models, [a, b]);
    folder.write("b/model.onnx", scaleFile(2));
    folder.write("b/shoal.json", {});
    folder.write("c/model.onnx", scaleFile(1));
    await repository.sync();
    assert.equal(host.find("a"), a);
    assert.notEqual(host.find("b"), b);
    folder.remove("a");
    folder.write("d/model.onnx", Uint8Array.of(7));
    const failed = await repository.sync();
    assert.deepEqual([...failed.keys()], ["d"]);
    assert.deepEqual(host.models.map(({ name }) => name), ["b", "c"]);
  });
});

Deno.test("a folder that cannot be looked through is told, and keeps no other back", async () => {
  await withFolder((folder) => {
    folder.write("bad/model.onnx", scaleFile(1));
    folder.write("good/model.onnx", scaleFile(1));
    symlinkSync("circle", join(folder.path, "bad/circle"));
  }, async ({ folder, repository, host, ask }) => {
    const failed = await repository.sync();
    assert.deepEqual([...failed], [[
      "bad",
      'Model "bad" cannot be loaded: its files cannot be read',
    ]]);
    assert.deepEqual(host.models.map(({ name }) => name), ["good"]);
    const path = "/v2/repository/models/bad/load";
    const refused = await ask(path, { method: "POST" });
    assert.equal(refused.status, 400);
    folder.remove("bad/circle");
    assert.equal((await repository.sync()).size, 0);
    assert.deepEqual(host.models.map(({ name }) => name), ["good", "bad"]);
  });
});

Deno.test("a model that the engine cannot have beside the others keeps none of them back", async () => {
  const told: string[] = [];
  const why = "All of them are too much";
  using folder = new TestFolder();
  const write = (name: string, { isLarge = false } = {}) => {
    folder.write(`${name}/model.onnx`, scaleFile(1));
    folder.write(`${name}/shoal.json`, { parameters: { isLarge } });
  };
  const host = EngineHost.empty({
    // As where memory does not suffice, of which an engine cannot say whose fault it is.
    policy: (models) => {
      const isTooMuch = models.some(({ config: { parameters } }) =>
        (parameters as { isLarge: boolean }).isLarge
      );
      if (isTooMuch) throw new RangeError(why);
      return cellular();
    },
    engine: { workers: 0, warmUp: false },
  });
  const repository = new Repository(host, new FolderFiles(folder.path), {
    loaded: ({ name }) => told.push(name),
    failed: (name, reason) => told.push(`${name}: ${reason}`),
  });
  const served = () => host.models.map(({ name }) => name).sort().join("");
  try {
    for (const name of "abcdef") write(name, { isLarge: "ce".includes(name) });
    assert.deepEqual([...await repository.sync()], [
      ["c", `Model "c" cannot be loaded: ${why}`],
      ["e", `Model "e" cannot be loaded: ${why}`],
    ]);
    assert.deepEqual(told, [`c: ${why}`, `e: ${why}`, ..."abdf"]);
    assert.equal(served(), "abdf");
    const index = await repository.index();
    assert.deepEqual(
      index.filter(({ state }) => state === "UNAVAILABLE"),
      [..."ce"].map((name) => ({ name, state: "UNAVAILABLE", reason: why })),
    );
    await assert.rejects(repository.load("c"), {
      name: "InputError",
      message: `Model "c" cannot be loaded: ${why}`,
    });
    // What is gone goes all the same, and what was served under a name is served on.
    const before = host.find("b");
    write("b", { isLarge: true });
    for (const name of "ace") folder.remove(name);
    assert.deepEqual([...(await repository.sync()).keys()], ["b"]);
    assert.equal(served(), "bdf");
    assert.equal(host.find("b"), before);
    write("b");
    assert.equal((await repository.sync()).size, 0);
    assert.notEqual(host.find("b"), before);
  } finally {
    await host.close();
  }
});

Deno.test("a link that leads nowhere is told: a model's, a version's, a file's", async () => {
  await withFolder((folder) => {
    const link = (name: string) => symlinkSync("gone", join(folder.path, name));
    folder.write("words/model.onnx", TEXT_FILE);
    link("words/tokenizer.json");
    folder.write("versions/1/model.onnx", scaleFile(1));
    link("versions/2");
    folder.write("good/model.onnx", scaleFile(1));
    link("good/README.md");
    link("lost");
    link(".hidden");
  }, async ({ folder, repository, host, ask }) => {
    const told = (link: string) => `${link} is a link that leads nowhere`;
    assert.deepEqual(
      [...await repository.sync()].map(([name, reason]) => [
        name,
        reason.replace(/^Model "\w+" cannot be loaded: /, ""),
      ]),
      [
        ["lost", told("lost")],
        ["versions", told("2")],
        ["words", told("tokenizer.json")],
      ],
    );
    assert.deepEqual(host.models.map(({ name }) => name), ["good"]);
    const index = await ask("/v2/repository/index", { method: "POST" });
    assert.deepEqual((await index.json())[1], {
      ...{ name: "lost", state: "UNAVAILABLE", reason: told("lost") },
    });
    // What was served before its link led nowhere is served on.
    folder.remove("lost");
    folder.write("there/model.onnx", scaleFile(3));
    symlinkSync("there", join(folder.path, "lost"));
    await repository.sync();
    folder.remove("there");
    assert.equal(
      (await repository.sync()).get("lost")?.endsWith("nowhere"),
      true,
    );
    assert.deepEqual(await scaled(ask, "/v2/models/lost/infer"), [3, 6]);
  });
});

Deno.test("a folder whose name is no model's is told, and not served", async () => {
  await withFolder((folder) => {
    folder.write("good/model.onnx", scaleFile(1));
    folder.write("two words/model.onnx", scaleFile(2));
  }, async ({ repository, host }) => {
    assert.deepEqual([...(await repository.sync()).keys()], ["two words"]);
    assert.deepEqual(host.models.map(({ name }) => name), ["good"]);
  });
});

Deno.test("a file that goes while the folder is looked through is no model", async () => {
  await withFolder((folder) => {
    for (let i = 0; i < 200; i++) folder.write(`upload-${i}.part`, {});
    folder.write("good/model.onnx", scaleFile(1));
  }, async ({ folder, repository, host }) => {
    const synced = repository.sync();
    await readdir(folder.path);
    for (let i = 0; i < 200; i++) folder.remove(`upload-${i}.part`);
    assert.deepEqual([...await synced], []);
    assert.deepEqual(host.models.map(({ name }) => name), ["good"]);
  });
});

Deno.test("of two changes under way the later one stays", async () => {
  await withFolder((folder) => {
    folder.write("scale/model.onnx", scaleFile(1));
  }, async ({ folder, host, ask }) => {
    // Its first look at the files takes until the second one is over, or waits for it.
    const files = new FolderFiles(folder.path);
    let isFirst = true;
    let goOn = () => {};
    const held = new Promise<void>((resolve) => goOn = resolve);
    const slow: ModelFiles = {
      ...bound(files),
      folder: (name) => {
        const inner = files.folder(name);
        return {
          ...bound(inner),
          async has(name) {
            const wasFirst = isFirst;
            isFirst = false;
            if (wasFirst) await held;
            return await inner.has(name);
          },
        };
      },
    };
    const repository = new Repository(host, slow);
    const older = repository.load("scale", { name: "scale" });
    while (isFirst) await new Promise((resolve) => setTimeout(resolve, 1));
    const settings = {
      output: [{ name: "y", data_type: "TYPE_FP64" }],
    };
    const newer = repository.load("scale", settings);
    // Time enough to overtake.
    await Promise.race([
      newer,
      new Promise((resolve) => setTimeout(resolve, 500)),
    ]);
    goOn();
    await Promise.all([older, newer]);
    assert.equal(host.find("scale").outputs[0].datatype, "FP64");
    assert.deepEqual(await scaled(ask, "/v2/models/scale/infer"), [1, 2]);
  });
});

/** All that a folder's files do, as an object's own. */
function bound(files: ModelFiles): ModelFiles {
  return {
    has: (name) => files.has(name),
    read: (name) => files.read(name),
    locationOf: (name) => files.locationOf(name),
    folders: () => files.folders(),
    folder: (name) => files.folder(name),
    stamp: () => files.stamp(),
  };
}

Deno.test("names that leave the folder are no models, and errors name no path", async () => {
  await withFolder((folder) => {
    folder.write("inner/scale/model.onnx", scaleFile(1));
    folder.write(".hidden/model.onnx", scaleFile(1));
    folder.write("lost+found/notes.txt", new Uint8Array());
    folder.write("m\u00f6del/model.onnx", scaleFile(1));
    folder.write("broken/model.onnx", scaleFile(1));
    folder.write("broken/shoal.json", { modle: 1 });
    folder.write("named/model.onnx", scaleFile(1));
    folder.write("named/shoal.json", { name: "other" });
    folder.write("empty/notes.txt", new Uint8Array());
  }, async ({ folder, repository, ask }) => {
    const failed = await repository.sync();
    assert.deepEqual([...failed.keys()].sort(), [
      "broken",
      "empty",
      "inner",
      "m\u00f6del",
      "named",
    ]);
    for (
      const name of [
        "..",
        "%2e%2e",
        "%2e%2e%2f..",
        "inner%2fscale",
        "inner%5cscale",
        "%2fetc",
        ".hidden",
        "a%00",
        "%",
        "x".repeat(5000),
      ]
    ) {
      for (const call of ["load", "unload"]) {
        const path = `/v2/repository/models/${name}/${call}`;
        const response = await ask(path, { method: "POST" });
        assert(
          [400, 404, 405].includes(response.status),
          `${path} ${response.status}`,
        );
        const text = await response.text();
        assert(!text.includes(folder.path) && text.length < 500, text);
      }
    }
    const response = await ask("/v2/repository/models/broken/load", {
      method: "POST",
    });
    assert.match((await response.json()).error, /modle.*it takes .*model/);
  });
});

Deno.test("what a file leaves open is asked for as the settings have it", async () => {
  await withFolder((folder) => {
    folder.write(
      "open/model.onnx",
      writeModel({
        graph: {
          inputs: [{ name: "x", dims: ["N", "seq", 2] }],
          outputs: [{ name: "y" }],
          nodes: [node("Relu", ["x"], ["y"])],
        },
      }),
    );
  }, async ({ folder, repository }) => {
    const told = (await repository.sync()).get("open");
    assert.match(
      told ?? "",
      /give "sizes": {"seq": ...}, or "sizes_max": {"seq": ...} to let/,
    );
    folder.write("open/shoal.json", { sizes_max: { seq: 4 } });
    assert.equal((await repository.sync()).size, 0);
  });
});

Deno.test("a folder of text gives equal numbers through every door", async () => {
  await withFolder((folder) => {
    folder.write("words/model.onnx", TEXT_FILE);
    folder.write("words/tokenizer.json", TOKENIZER);
  }, async ({ repository, ask }) => {
    await repository.sync();
    const post = async (path: string, body: unknown) => {
      const response = await ask(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      assert.equal(response.status, 200, path);
      return await response.json();
    };
    const ids = { name: "input_ids", datatype: "INT64", shape: [1, 2] };
    const { outputs: [{ data }] } = await post("/v2/models/words/infer", {
      inputs: [{ ...ids, data: [1, 3] }],
    });
    const mean = [(data[0] + data[2]) / 2, (data[1] + data[3]) / 2];
    assert.deepEqual(
      await post("/embed", { inputs: "fish birds", normalize: false }),
      [mean],
    );
    const [normed] = await post("/embed", { inputs: "fish birds" });
    const { data: [{ embedding }] } = await post("/v1/embeddings", {
      model: "words",
      input: "fish birds",
      encoding_format: "float",
    });
    assert.deepEqual(embedding, normed);
    assert.deepEqual(
      normed,
      mean.map((x) => Math.fround(x / Math.hypot(...mean))),
    );
  });
});
