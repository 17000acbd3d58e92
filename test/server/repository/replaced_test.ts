/** Models that are replaced, unloaded and loaded while requests come. */
import assert from "node:assert/strict";
import { FolderFiles } from "../../../src/cli/serve/folder_files.ts";
import type { ModelFiles } from "../../../src/server/repository/model_files.ts";
import { Repository } from "../../../src/server/repository/repository.ts";
import { answerOf, binaryOf, requestOf } from "../oip/client.ts";
import { scaleFile } from "./folders.ts";
import { scaled, withFolder } from "./with_folder.ts";

Deno.test("models are replaced, unloaded and loaded over HTTP while requests come", async () => {
  await withFolder((folder) => {
    folder.write("scale/model.onnx", scaleFile(1));
  }, async ({ folder, repository, ask, host }) => {
    await repository.sync();
    const post = (path: string, body?: unknown) =>
      ask(`/v2/repository/${path}`, {
        method: "POST",
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    const json = async (response: Promise<Response>) => (await response).json();
    assert.deepEqual(await json(post("index")), [
      { name: "scale", version: "1", state: "READY" },
    ]);
    let changing = true;
    const asked = (async () => {
      const seen = new Set<string>();
      while (changing) {
        seen.add(`${await scaled(ask, "/v2/models/scale/infer")}`);
        await new Promise((resolve) => setTimeout(resolve));
      }
      return seen;
    })();
    // Told where it is awaited.
    asked.catch(() => {});
    for (const w of [2, 3]) {
      folder.write("scale/model.onnx", scaleFile(w));
      const loaded = await post("models/scale/load");
      assert.deepEqual([loaded.status, await loaded.json()], [200, {}]);
      assert.deepEqual(await scaled(ask, "/v2/models/scale/infer"), [w, 2 * w]);
    }
    changing = false;
    for (const values of await asked) {
      assert(["1,2", "2,4", "3,6"].includes(values), values);
    }
    // What cannot be loaded leaves what is there.
    folder.write("scale/model.onnx", Uint8Array.of(1, 2, 3));
    const failed = await post("models/scale/load");
    assert.equal(failed.status, 400);
    const { error } = await failed.json();
    assert.match(error, /"scale" cannot be loaded: /);
    assert(!error.includes(folder.path), error);
    assert.deepEqual(await scaled(ask, "/v2/models/scale/infer"), [3, 6]);
    const [entry] = await json(post("index"));
    assert.equal(entry.state, "READY");
    assert.match(entry.reason, /model.onnx/);

    folder.write("scale/model.onnx", scaleFile(5));
    assert.equal((await post("models/scale/unload")).status, 200);
    assert.equal((await ask("/v2/models/scale/ready")).status, 404);
    assert.deepEqual(await json(post("index")), [
      { name: "scale", state: "UNAVAILABLE", reason: "unloaded" },
    ]);
    assert.deepEqual(await json(post("index", { ready: true })), []);
    assert.equal((await post("models/scale/unload")).status, 404);
    const config = JSON.stringify({
      output: [{ name: "y", data_type: "TYPE_FP64" }],
    });
    const loaded = await post("models/scale/load", { parameters: { config } });
    assert.equal(loaded.status, 200, await loaded.text());
    assert.equal(host.find("scale").outputs[0].datatype, "FP64");
    assert.deepEqual(await scaled(ask, "/v2/models/scale/infer"), [5, 10]);
    const { extensions } = await json(ask("/v2"));
    assert(extensions.includes("model_repository"));
  });
});

Deno.test("files that are replaced while they are read are read anew, until they are of one kind", async () => {
  await withFolder((folder) => {
    folder.write("scale/model.onnx", scaleFile(1));
  }, async ({ folder, host, ask }) => {
    let changes = 1;
    // Replaced when the settings have been read, and the model has not.
    const replacing = (files: ModelFiles): ModelFiles => ({
      has: (name) => files.has(name),
      read: async (name) => {
        const bytes = await files.read(name);
        if (name === "shoal.json" && changes-- > 0) {
          folder.write("scale/model.onnx", scaleFile(20 + changes));
          folder.write("scale/shoal.json", {
            output: [{ name: "y", data_type: "TYPE_FP64" }],
          });
        }
        return bytes;
      },
      locationOf: (name) => files.locationOf(name),
      folders: () => files.folders(),
      folder: (name) => replacing(files.folder(name)),
      stamp: () => files.stamp(),
    });
    const repository = new Repository(
      host,
      replacing(new FolderFiles(folder.path)),
    );
    await repository.load("scale");
    assert.equal(host.find("scale").outputs[0].datatype, "FP64");
    assert.deepEqual(await scaled(ask, "/v2/models/scale/infer"), [20, 40]);
    const served = host.models;
    assert.equal((await repository.sync()).size, 0);
    assert.equal(host.models, served);
    // Those that change all the time are loaded, and next time again.
    changes = Infinity;
    await repository.load("scale");
    const once = host.models;
    assert.equal((await repository.sync()).size, 0);
    assert.notEqual(host.models, once);
  });
});

Deno.test("a request whose body comes while its model is replaced is answered by the new one", async () => {
  const x = { name: "x", datatype: "FP32", shape: [1, 2], values: [1, 2] };
  const forms = [
    requestOf([[x, "flat"]]),
    requestOf([[x, "binary"]]),
    {
      method: "POST",
      body: binaryOf(x),
      headers: { "inference-header-content-length": "0" },
    },
  ];
  await withFolder((folder) => {
    folder.write("scale/model.onnx", scaleFile(1));
  }, async ({ folder, repository, ask }) => {
    await repository.sync();
    for (const [i, { body, ...rest }] of forms.entries()) {
      const w = i + 2;
      const late = new ReadableStream<Uint8Array>({
        async start(controller) {
          folder.write("scale/model.onnx", scaleFile(w));
          await repository.load("scale");
          controller.enqueue(body);
          controller.close();
        },
      });
      const { outputs: [{ values }] } = await answerOf(
        await ask("/v2/models/scale/infer", { ...rest, body: late }),
      );
      assert.deepEqual(values, [w, 2 * w]);
    }
  });
});
