/** Two copies of the package in one process: each works, and what one does not take from the other it names. */
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ROOT, Stranger } from "./stranger.ts";

type Core = typeof import("../../src/mod.ts");
type Serving = typeof import("../../src/server.ts");

Deno.test("a server says so when its engine is of another copy of the package", async () => {
  using stranger = new Stranger();
  for (const copy of ["one", "two"]) {
    cpSync(`${ROOT}build/dist`, stranger.path(copy), { recursive: true });
  }
  const load = (path: string) =>
    import(pathToFileURL(stranger.path(path)).href);
  const { cellular, lstm, ServingEngine }: Core = await load("one/mod.js");
  const { EngineHost }: Serving = await load("one/server.js");
  const { createServer }: Serving = await load("two/server.js");
  const models = [lstm({ hidden: 4, vocabulary: 5 })];
  const engine = await ServingEngine.create({ models, workers: 0 });
  const host = EngineHost.empty({ policy: () => cellular() });
  for (const  of of[engine, host]) {
    assert.throws(() => createServer(of), {
      name: "TypeError",
      message: /got one of another copy of @shoal\/core: .*npm ls @shoal\/core/,
    });
  }
  await host.close();
  await engine.close();
});
