/** VGG-19 of full size beside ONNX Runtime's logits of the published graph with seeded weights. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { vgg19 } from "../../src/models/vgg.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { readSafetensors } from "../../src/tensor/safetensors.ts";
import { elementCount, tensor } from "../../src/tensor/tensor.ts";
import type { WeightSource } from "../../src/tensor/weights.ts";
import { runRequests } from "../run_requests.ts";
import { drawer } from "./drawer.ts";
import { dataFolder } from "../workload/data_folder.ts";

const WHAT = "vgg19() gives ONNX Runtime's logits";
const SIDE = 224;

/** A bias that the graph holds: a TensorProto, its name in front of its raw data. */
function stored(graph: Buffer, name: string, length: number): Float32Array {
  const bytes = 4 * length;
  const rawData = Buffer.from([0x4a, (bytes & 127) | 128, bytes >> 7]);
  const key = Buffer.concat([Buffer.from(name), rawData]);
  const at = graph.indexOf(key);
  assert(at >= 0, `the graph holds ${name}`);
  const raw = graph.subarray(at + key.length, at + key.length + bytes);
  return Float32Array.from({ length }, (_, i) => raw.readFloatLE(4 * i));
}

/** torchvision's names as the graph's. */
function graphNames(): Map<string, string> {
  const names = new Map<string, string>();
  let feature = 0;
  [2, 2, 4, 4, 4].forEach((count, s) => {
    for (let i = 0; i < count; i++, feature += 2) {
      names.set(`features.${feature}`, `conv${s + 1}_${i + 1}`);
    }
    feature++;
  });
  [0, 3, 6].forEach((layer, i) =>
    names.set(`classifier.${layer}`, `fc${6 + i}`)
  );
  return names;
}

Deno.test(WHAT, () => {
  const folder = dataFolder(WHAT);
  if (folder === undefined) return;
  const path = (end: string) => `${folder}/models/cnn-topologies/vgg19.${end}`;
  if (!existsSync(path("onnx"))) {
    return console.log(`skipped: ${WHAT}: no cnn-topologies`);
  }
  const graph = readFileSync(path("onnx"));
  const drawn: { tensor: string; shape: number[] }[] = JSON.parse(
    readFileSync(path("weights.json"), "utf8"),
  );
  const shapes = new Map(drawn.map(({ tensor, shape }) => [tensor, shape]));
  const names = graphNames();
  const weights: WeightSource = (name, shape) => {
    const [, layer, kind] = /^(.*)\.(weight|bias)$/.exec(name)!;
    const weight = kind === "weight";
    const known = `${names.get(layer)}_${weight ? "w" : "b"}_0`;
    const count = elementCount(shape);
    const seeded = shapes.get(known);
    if (seeded === undefined) return tensor(shape, stored(graph, known, count));
    assert.deepEqual(shape, seeded, known);
    const scale = weight ? Math.sqrt(6 / (count / shape[0])) : 0.1;
    const draw = drawer(known);
    const data = new Float32Array(count);
    for (let i = 0; i < count; i++) data[i] = draw() * scale;
    return tensor(shape, data);
  };
  const logits = readSafetensors(
    readFileSync(path("seeded-logits.safetensors")),
    "vgg19",
  );
  const images = ["image-a", "image-b"];
  const inputs = images.map((name) => {
    const draw = drawer(name);
    const grid = Array.from({ length: 3 * 8 * 8 }, draw);
    return {
      image: Float32Array.from({ length: SIDE * SIDE * 3 }, (_, i) => {
        const [y, x] = [Math.floor(i / 3 / SIDE), Math.floor(i / 3) % SIDE];
        return grid[i % 3 * 64 + Math.floor(y / 28) * 8 + Math.floor(x / 28)];
      }),
    };
  });
  const results = runRequests(vgg19({ weights }), inputs, {
    policy: merged({ batchSizeMax: 2 }),
    slotBytes: 2 ** 27,
  });
  images.forEach((name, i) => {
    const expected = logits.get(name)!.data;
    const largest = expected.reduce((a, x) => Math.max(a, Math.abs(x)), 0);
    const worst = [...results[i]["logits"].data].reduce(
      (a, x, k) => Math.max(a, Math.abs(x - expected[k])),
      0,
    );
    console.log(`${name}: off by ${(worst / largest).toExponential(1)}`);
    // The data set's tolerance.
    assert(worst <= 2e-4 * largest, `${name}: off by ${worst} of ${largest}`);
  });
});
