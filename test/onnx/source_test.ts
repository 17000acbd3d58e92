/** Models that are fetched: how much at most, and the files beside them. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";
import { loadOnnx } from "../../src/onnx/load.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { runRequests } from "../run_requests.ts";
import { integer, text } from "./wire.ts";
import { ELEMENT, node, writeModel } from "./write_model.ts";

/** y = x + w, with w in a file. */
const model = (location: string) =>
  writeModel({
    graph: {
      inputs: [{ name: "x", dims: [1, 2] }],
      outputs: [{ name: "y" }],
      initializers: {
        w: {
          fields: [
            integer(1, 2),
            integer(2, ELEMENT.float32),
            [13, { message: [text(1, "location"), text(2, location)] }],
            integer(14, 1),
          ],
        },
      },
      nodes: [node("Add", ["x", "w"], ["y"])],
    },
  });
const weights = new Uint8Array(Float32Array.of(10, 20).buffer);

/** Serves files by path while something is done. @returns the paths that were asked for */
async function served(
  files: Readonly<Record<string, Uint8Array>>,
  use: (base: string) => Promise<void>,
): Promise<string[]> {
  const asked: string[] = [];
  const server: Server = createServer(({ url = "" }, answer) => {
    asked.push(url);
    const found = files[url];
    if (url === "/forbidden") answer.writeHead(403).end();
    else if (found) answer.writeHead(200).end(found);
    else answer.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  try {
    await use(`http://127.0.0.1:${port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
  return asked;
}

Deno.test("tensors of a fetched model are fetched from beside it", async () => {
  const files = {
    "/models/m.onnx": model("data/w 1.bin"),
    "/models/data/w%201.bin": weights,
  };
  const asked = await served(files, async (base) => {
    const loaded = await loadOnnx(`${base}/models/m.onnx`);
    const [{ y }] = runRequests(loaded, [{ x: Float32Array.of(1, 2) }]);
    assert.deepEqual([...y.data], [11, 22]);
  });
  assert.deepEqual(asked, ["/models/m.onnx", "/models/data/w%201.bin"]);
});

Deno.test("nothing outside of a fetched model's folder is asked for", async () => {
  for (const location of ["../w.bin", "/w.bin", "http://localhost/w.bin"]) {
    const asked = await served({ "/m.onnx": model(location) }, async (base) => {
      await assert.rejects(
        loadOnnx(`${base}/m.onnx`),
        /inside the model's folder/,
      );
    });
    assert.deepEqual(asked, ["/m.onnx"]);
  }
});

Deno.test("what is not there, or too large, is said", async () => {
  const files = { "/m.onnx": model("w.bin"), "/n.onnx": model("forbidden") };
  await served({ ...files, "/w.bin": weights }, async (base) => {
    await assert.rejects(loadOnnx(`${base}/none.onnx`), /none.onnx: 404/);
    await assert.rejects(loadOnnx(`${base}/n.onnx`), /forbidden: 403/);
    await assert.rejects(
      loadOnnx(`${base}/m.onnx`, { bytesMax: 7 }),
      /m.onnx: it has more than 7 bytes/,
    );
    const { length } = files["/m.onnx"];
    await loadOnnx(`${base}/m.onnx`, { bytesMax: length });
    await assert.rejects(
      loadOnnx(`${base}/m.onnx`, { bytesMax: 0 }),
      /"bytesMax"/,
    );
    for (const none of [null, 5]) {
      await assert.rejects(
        loadOnnx(`${base}/m.onnx`, none as never),
        /takes an object with options, got (null|5)/,
      );
    }
  });
  await served(files, async (base) => {
    await assert.rejects(
      loadOnnx(`${base}/m.onnx`),
      (error) => error instanceof OnnxError && /not given/.test(error.message),
    );
  });
  const large = { "/m.onnx": model("w.bin"), "/w.bin": new Uint8Array(1000) };
  await served(large, async (base) => {
    await assert.rejects(
      loadOnnx(`${base}/m.onnx`, { bytesMax: 999 }),
      /w.bin: it has more than 999 bytes/,
    );
  });
});

Deno.test("a file beside a model that cannot be read is not said to be missing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-"));
  try {
    const path = join(folder, "m.onnx");
    writeFileSync(path, model("w.bin"));
    await assert.rejects(loadOnnx(pathToFileURL(path)), /was not given/);
    // A folder: reading it fails for everybody, whatever they may do.
    writeFileSync(path, model("data"));
    const inside = join(folder, "data");
    mkdirSync(inside);
    await assert.rejects(
      loadOnnx(pathToFileURL(path)),
      (error) =>
        error instanceof OnnxError &&
        /"data", which cannot be read: EISDIR/.test(error.message),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("where nobody answers, the error says what was asked for", async () => {
  let gone = "";
  await served({}, (base) => Promise.resolve(void (gone = `${base}/m.onnx`)));
  await assert.rejects(loadOnnx(gone), (error: Error) => {
    assert(error.message.startsWith(`Cannot load ${gone}: `), error.message);
    return error.cause instanceof Error;
  });
});

Deno.test("an option that there is not is told before anything is read, with all that there are", async () => {
  const other = { size: { n: 1 } } as never;
  await assert.rejects(loadOnnx("not there.onnx", other), {
    name: "TypeError",
    message:
      'loadOnnx has no option "size"; it takes name, constants, sizes, ' +
      "sizesMax, shapes, cells, states, decoder, bytesMax",
  });
  for (const none of [null, 1, "sizes", []]) {
    await assert.rejects(loadOnnx("not there.onnx", none as never), {
      name: "TypeError",
      message: /^loadOnnx takes an object with options, got /,
    });
  }
  const whole = writeModel({
    graph: {
      inputs: [{ name: "x", dims: [1, 2] }],
      outputs: [{ name: "y" }],
      nodes: [node("Relu", ["x"], ["y"])],
    },
  });
  const both = { decoder: {}, cells: "model" } as const;
  await assert.rejects(loadOnnx(whole, both as never), {
    name: "TypeError",
    message: /^loadOnnx of a decoder has no option "cells"; it takes /,
  });
});

Deno.test("options of a class are read, and looked at", async () => {
  const file = writeModel({
    graph: {
      inputs: [{ name: "x", dims: ["n", 2] }],
      outputs: [{ name: "y" }],
      nodes: [node("Relu", ["x"], ["y"])],
    },
  });
  class Options {
    get name() {
      return "mine";
    }
    get sizes() {
      return { n: 3 };
    }
  }
  const { name, inputs } = await loadOnnx(file, new Options());
  assert.equal(name, "mine");
  assert.deepEqual(inputs[0].shape, [3, 2]);
  for (const wrong of [{ sizes: { m: 3 } }, { cells: -1 }, { bytesMax: 0 }]) {
    await assert.rejects(loadOnnx(file, Object.create(wrong)));
  }
});

Deno.test("a model may be brought by another realm: as bytes, as a buffer, as a URL", async () => {
  const file = writeModel({
    graph: {
      inputs: [{ name: "x", dims: [1, 2] }],
      outputs: [{ name: "y" }],
      nodes: [node("Relu", ["x"], ["y"])],
    },
  });
  const bytes = runInNewContext("Uint8Array").from([0, ...file]);
  const buffer = runInNewContext("Uint8Array").from(file).buffer;
  assert(!(bytes instanceof Uint8Array) && !(buffer instanceof ArrayBuffer));
  class TheirUrl {
    get [Symbol.toStringTag]() {
      return "URL";
    }
    toString() {
      return "file:///nowhere/model.onnx";
    }
  }
  for (const source of [bytes.subarray(1), buffer]) {
    const { inputs } = await loadOnnx(source);
    assert.deepEqual(inputs[0].shape, [1, 2]);
  }
  await assert.rejects(loadOnnx(new TheirUrl() as unknown as URL), {
    code: "ENOENT",
  });
  await assert.rejects(loadOnnx(runInNewContext("Int8Array.of(1)")), {
    message:
      "A model is a path, a URL or bytes, got Int8Array of 1 from another frame or context (copy it)",
  });
});

Deno.test("an option without a value is none: a file loaded with no decoder is cut into cells", async () => {
  const file = writeModel({
    graph: {
      inputs: [{ name: "x", dims: [1, 2] }],
      outputs: [{ name: "y" }],
      nodes: [node("Relu", ["x"], ["y"])],
    },
  });
  const options = {
    name: "relu",
    cells: "model",
    states: undefined,
    decoder: undefined,
  } as const;
  const model = await loadOnnx(file, options);
  const [{ y }] = runRequests(model, [{ x: Float32Array.of(-1, 2) }]);
  assert.deepEqual([...y.data], [0, 2]);
});
