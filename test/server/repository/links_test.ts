/** Models behind links, as Kubernetes and stores of files lay them out: what changes behind a link has changed. */
import assert from "node:assert/strict";
import { mkdirSync, renameSync, symlinkSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { scaleFile, TestFolder } from "./folders.ts";
import { scaled, withFolder } from "./with_folder.ts";

/** Of files that were unpacked with the times that they were packed with. */
const PACKED = new Date(1e12);

/** Models in a place of their own, of the same size and time. */
function store(ws: readonly number[]): TestFolder {
  const folder = new TestFolder();
  for (const w of ws) {
    folder.write(`x${w}/model.onnx`, scaleFile(w));
    utimesSync(join(folder.path, `x${w}/model.onnx`), PACKED, PACKED);
  }
  return folder;
}

/** Makes a link, or makes it lead elsewhere, in one step. */
function link(folder: TestFolder, name: string, target: string): void {
  const path = join(folder.path, name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, `${path}.new`);
  renameSync(`${path}.new`, path);
}

Deno.test("a link that leads to another folder or file of the same size and time is loaded", async () => {
  using models = store([3, 5]);
  const at = (w: number, file = "") => join(models.path, `x${w}`, file);
  const NAMES = ["folder", "version", "file", "mounted"];
  await withFolder((folder) => {
    link(folder, "folder", at(3));
    link(folder, "version/1", at(3));
    link(folder, "file/model.onnx", at(3, "model.onnx"));
    // As Kubernetes mounts config maps.
    link(folder, "mounted/..data", at(3));
    link(folder, "mounted/model.onnx", "..data/model.onnx");
  }, async ({ folder, repository, ask, host }) => {
    const read = () =>
      Promise.all(NAMES.map((name) => scaled(ask, `/v2/models/${name}/infer`)));
    assert.equal((await repository.sync()).size, 0);
    assert.deepEqual(await read(), NAMES.map(() => [3, 6]));
    const served = host.models;
    await repository.sync();
    assert.equal(host.models, served);
    link(folder, "folder", at(5));
    link(folder, "version/1", at(5));
    link(folder, "file/model.onnx", at(5, "model.onnx"));
    link(folder, "mounted/..data", at(5));
    assert.equal((await repository.sync()).size, 0);
    assert.deepEqual(await read(), NAMES.map(() => [5, 10]));
  });
});

Deno.test("what is replaced in a version's folder that a link leads to is loaded", async () => {
  using models = store([3]);
  await withFolder((folder) => {
    link(folder, "scale/1", join(models.path, "x3"));
    // Which leads back to where it is.
    link(folder, "scale/all", ".");
  }, async ({ repository, ask }) => {
    assert.equal((await repository.sync()).size, 0);
    models.write("x3/model.onnx", scaleFile(7));
    assert.equal((await repository.sync()).size, 0);
    assert.deepEqual(await scaled(ask, "/v2/models/scale/infer"), [7, 14]);
  });
});

Deno.test("a folder that is again what is served has nothing wrong with it", async () => {
  using models = store([3]);
  models.write("bad/model.onnx", Uint8Array.of(1));
  await withFolder((folder) => {
    link(folder, "scale", join(models.path, "x3"));
  }, async ({ folder, repository }) => {
    await repository.sync();
    link(folder, "scale", join(models.path, "bad"));
    assert.equal((await repository.sync()).size, 1);
    const [broken] = await repository.index();
    assert.match(broken.reason!, /model\.onnx/);
    link(folder, "scale", join(models.path, "x3"));
    assert.equal((await repository.sync()).size, 0);
    assert.deepEqual(await repository.index(), [
      { name: "scale", version: "1", state: "READY" },
    ]);
  });
});
