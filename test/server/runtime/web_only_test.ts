/** The server needs nothing but the Web's own: its bundle, in a realm without any runtime's globals, as a service worker's. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { build, stop } from "esbuild";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const PROGRAM = `
import { cellular } from "./src/mod.ts";
import { createServer, EngineHost } from "./src/server.ts";

const server = EngineHost.create({ policy: () => cellular() }).then((host) => createServer(host));
addEventListener("fetch", (event) =>
  event.respondWith(server.then((server) => server.fetch(event.request))));
`;

/** What service workers have, as far as it is needed. */
const WEB = [
  ...["AbortController", "AbortSignal", "DOMException", "Blob", "Event"],
  ...[
    "EventTarget",
    "Headers",
    "Request",
    "Response",
    "URL",
    "URLSearchParams",
  ],
  ...["ReadableStream", "TransformStream", "ByteLengthQueuingStrategy"],
  ...["TextDecoder", "TextEncoder", "TextDecoderStream", "TextEncoderStream"],
  ...["crypto", "performance", "console", "setTimeout", "clearTimeout"],
  ...["queueMicrotask", "structuredClone", "atob", "btoa", "WebAssembly"],
  ...["MessageChannel", "navigator", "Uint8Array", "ArrayBuffer"],
];

Deno.test("the server runs where there is nothing but the Web", async () => {
  const { outputFiles: [{ text }], metafile } = await build({
    stdin: { contents: PROGRAM, resolveDir: ROOT, loader: "ts" },
    bundle: true,
    format: "iife",
    platform: "browser",
    target: "es2022",
    write: false,
    metafile: true,
    absWorkingDir: ROOT,
    logLevel: "error",
    logOverride: { "empty-import-meta": "silent" },
  }).finally(() => stop());
  const left = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external).map(({ path }) => path)
  );
  assert.deepEqual(left, []);
  let listener: ((event: unknown) => void) | undefined;
  const globals = globalThis as unknown as Record<string, unknown>;
  const realm = createContext({
    ...Object.fromEntries(WEB.map((name) => [name, globals[name]])),
    addEventListener: (_: string, given: typeof listener) => listener = given,
  });
  runInContext(text, realm);
  const ask = (path: string, init?: RequestInit) =>
    new Promise<Response>((respondWith) =>
      listener?.({
        request: new Request(`https://localhost${path}`, init),
        respondWith,
      })
    );
  const live = await ask("/v2/health/live");
  assert.deepEqual(await live.json(), { live: true });
  const none = await ask("/v2/models/none/infer", {
    method: "POST",
    body: "{}",
  });
  assert.equal(none.status, 404);
  const broken = await ask("/v1/embeddings", { method: "POST", body: "{" });
  assert.equal(broken.status, 400);
});
