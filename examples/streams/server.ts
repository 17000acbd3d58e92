/**
 * Denoises for many callers at once, over WebSockets (ws://HOST/callers, see callers.ts), and serves a page that does it
 * in the browser instead (page/), live from a microphone or from a file:
 *
 *   deno run -A examples/streams/server.ts --model1 model_1.onnx --model2 model_2.onnx [--silero silero_vad_16k.onnx]
 *     [--port 8080] [--workers 1]
 *
 * The page needs the package's modules: `deno task package` puts them into build/dist. It listens on this machine only.
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { cellular, ServingEngine } from "@shoal/core";
import { dtln, loadOnnx } from "@shoal/core/onnx";
import { Callers } from "./callers.ts";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  wasm: "application/wasm",
  onnx: "application/octet-stream",
};

/** The page is isolated from other origins: only then may its threads share memory. */
const HEADERS = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

const PAGE_FILES = ["index.html", "page.js", "engine.js", "microphone.js"];

export interface SiteOptions {
  /** Serves sockets; default: nobody does. */
  callers?: Callers;
  /** Paths of model files by the names under which the page asks for them: model1, model2, silero. */
  models: Readonly<Record<string, string>>;
  /** Where the package's modules lie. */
  dist?: URL;
}

/** What is served: sockets, the page's files, the package's modules, the models. */
export function site(
  { callers, models, dist = new URL("../../build/dist/", import.meta.url) }:
    SiteOptions,
): (request: Request) => Promise<Response> {
  const page = new URL("page/", import.meta.url);
  return async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/callers" && callers) {
      if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
        return new Response("This is for WebSockets", { status: 426 });
      }
      const { socket, response } = Deno.upgradeWebSocket(request);
      callers.accept(socket);
      return response;
    }
    const [, folder, file = ""] = /^\/(?:(shoal|models)\/)?([\w.-]+)$/.exec(
      pathname === "/" ? "/index.html" : pathname,
    ) ?? [];
    const known = folder === "models" && file.endsWith(".onnx")
      ? models[file.slice(0, -".onnx".length)]
      : folder === "shoal" && /\.(js|wasm)$/.test(file)
      ? new URL(file, dist)
      : folder === undefined && PAGE_FILES.includes(file)
      ? new URL(file, page)
      : undefined;
    const content = known && await readFile(known).catch(() => undefined);
    if (!content) {
      return new Response("Not found", { status: 404, headers: HEADERS });
    }
    const type = TYPES[file.slice(file.lastIndexOf(".") + 1)];
    return new Response(new Uint8Array(content), {
      headers: { ...HEADERS, "content-type": type },
    });
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      model1: { type: "string" },
      model2: { type: "string" },
      silero: { type: "string" },
      port: { type: "string", default: "8080" },
      workers: { type: "string", default: "1" },
    },
  });
  const { model1, model2, silero } = values;
  const [port, workers] = [Number(values.port), Number(values.workers)];
  if (!model1 || !model2) {
    throw new RangeError(
      "Usage: server.ts --model1 model_1.onnx --model2 model_2.onnx [--silero silero_vad_16k.onnx] [--port 8080] [--workers 1]",
    );
  }
  const model = dtln({
    model1: await loadOnnx(model1),
    model2: await loadOnnx(model2),
  });
  const engine = await ServingEngine.create({
    models: [model],
    policy: cellular({ batchSizeMax: 64 }),
    workers,
  });
  const callers = new Callers({ engine, model });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1" },
    site({
      callers,
      models: { model1, model2, ...(silero !== undefined && { silero }) },
    }),
  );
  Deno.addSignalListener("SIGINT", async () => {
    await server.shutdown();
    await engine.close("reject");
    Deno.exit(0);
  });
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(1);
  }
}
