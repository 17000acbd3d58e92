/** The page that denoises, as tests serve it: with a script that drives it, and models that are always there. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { site } from "../../examples/streams/server.ts";
import { type WavFormat, writeWav } from "../../examples/streams/wav.ts";
import { Prng } from "../../src/base/prng.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { modelFolder } from "../onnx/reference_models.ts";
import { dtlnFolders } from "../onnx/speech.ts";
import { node, writeModel } from "../onnx/write_model.ts";

export const RATE_HZ = 16_000;
const SECONDS = 2;
/** Of the recording's tone. */
export const TONE_HZ = 700;

/** Files of the denoiser's form, for who has not the published ones. */
function smallFiles(): Record<string, Uint8Array> {
  const file = (width: number, op: string, by: number) => {
    const row = [1, 1, width];
    return writeModel({
      graph: {
        inputs: [{ name: "x", dims: row }, { name: "state", dims: [1, 4] }],
        outputs: [{ name: "y", dims: row }, { name: "next", dims: [1, 4] }],
        initializers: {
          by: plainOf("float32", [1], Float32Array.of(by)),
          one: plainOf("float32", [1], Float32Array.of(1)),
        },
        nodes: [
          node("Mul", ["x", "by"], ["scaled"]),
          node(op, ["scaled"], ["y"]),
          node("Add", ["state", "one"], ["next"]),
        ],
      },
    });
  };
  return {
    ...{ model1: file(257, "Sigmoid", 0.1), model2: file(512, "Tanh", 0.25) },
    openDetector: detectorFile(),
  };
}

/** A detector with the sizes that the published file leaves open, which the one of the reference models does not. */
function detectorFile(): Uint8Array {
  return writeModel({
    graph: {
      inputs: [
        { name: "input", dims: ["batch", "samples"] },
        { name: "state", dims: [2, "batch", 128] },
        { name: "sr", type: "int64", dims: [] },
      ],
      outputs: [{ name: "output" }, { name: "stateN" }],
      initializers: { axes: plainOf("int64", [1], [1]) },
      nodes: [
        node("ReduceMax", ["input", "axes"], ["peak"]),
        node("Sigmoid", ["peak"], ["output"]),
        node("Tanh", ["state"], ["stateN"]),
      ],
    },
  });
}

/**
 * Paths of files: the published ones, or such as are written into the folder; a detector where there is one, and one
 * whose sizes are open.
 */
export function pageModels(folder: string): {
  model1: string;
  model2: string;
  detector: string | undefined;
  openDetector: string;
} {
  for (const [name, bytes] of Object.entries(smallFiles())) {
    writeFileSync(join(folder, `${name}.onnx`), bytes);
  }
  const real = dtlnFolders("the denoiser's page with the published files");
  const detector = modelFolder("voice activity of the page", "silero-vad-16k");
  const path = (folder: URL) => fileURLToPath(new URL("model.onnx", folder));
  const [model1, model2] = real?.map(path) ??
    ["model1", "model2"].map((name) => join(folder, `${name}.onnx`));
  return {
    ...{ model1, model2, detector: detector && path(detector) },
    openDetector: join(folder, "openDetector.onnx"),
  };
}

/** A tone that comes and goes, and noise. In floats: of 16 bits, browsers make numbers of their own. */
export function recording(format: WavFormat = "float32"): Uint8Array {
  const prng = new Prng(2);
  const samples = Float32Array.from({ length: SECONDS * RATE_HZ }, (_, i) => {
    const isTone = Math.floor(i / 4000) % 2 === 0;
    const tone = isTone
      ? 0.4 * Math.sin(2 * Math.PI * TONE_HZ * i / RATE_HZ)
      : 0;
    return tone + 0.1 * prng.float() - 0.05;
  });
  return writeWav({ rateHz: RATE_HZ, channels: [samples] }, format);
}

/** Serves the page with a module at its end that drives it, and files by their paths. */
export function servePage(
  { models, driver, files = {} }: {
    models: Readonly<Record<string, string>>;
    driver: string;
    files?: Readonly<Record<string, Uint8Array>>;
  },
): Deno.HttpServer<Deno.NetAddr> {
  const get = site({ models });
  return Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      if (Object.hasOwn(files, pathname)) {
        return new Response(new Uint8Array(files[pathname]));
      }
      if (pathname === "/driver.js") {
        const headers = { "content-type": "text/javascript" };
        return new Response(driver, { headers });
      }
      const response = await get(request);
      if (pathname !== "/") return response;
      const html = await response.text();
      const driven = html.replace(
        "</body>",
        `<script type="module" src="driver.js"></script></body>`,
      );
      return new Response(driven, { headers: response.headers });
    },
  );
}
