/** A server of a folder of models, for tests. */
import { FolderFiles } from "../../../src/cli/serve/folder_files.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import { KeyRing, keySha256 } from "../../../src/server/keys/key_ring.ts";
import { Repository } from "../../../src/server/repository/repository.ts";
import { createServer } from "../../../src/server/server.ts";
import { answerOf, requestOf } from "../oip/client.ts";
import type { Ask } from "../oip/served.ts";
import { TestFolder } from "./folders.ts";

export interface Open {
  readonly folder: TestFolder;
  readonly host: EngineHost;
  readonly repository: Repository;
  readonly ask: Ask;
}

/** With a server of a folder, which `fill` has filled; administrators' calls reach the repository. */
export async function withFolder(
  fill: (folder: TestFolder) => void,
  run: (open: Open) => Promise<void>,
): Promise<void> {
  using folder = new TestFolder();
  fill(folder);
  const host = EngineHost.empty({
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false },
  });
  const repository = new Repository(host, new FolderFiles(folder.path));
  const sha256 = await keySha256("secret");
  const keys = new KeyRing([{ name: "root", sha256, scope: "admin" }]);
  const server = createServer(host, { repository, keys });
  const ask: Ask = (path, init = {}) => {
    const headers = { ...init.headers, authorization: "Bearer secret" };
    return server.fetch(
      new Request(`http://localhost${path}`, { ...init, headers }),
    );
  };
  try {
    await run({ folder, host, repository, ask });
  } finally {
    await server.close();
  }
}

/** What the model behind a path makes of 1 and 2. */
export async function scaled(ask: Ask, path: string): Promise<unknown> {
  const x = { name: "x", datatype: "FP32", shape: [1, 2], values: [1, 2] };
  const { outputs: [{ values }] } = await answerOf(
    await ask(path, requestOf([[x, "flat"]])),
  );
  return values;
}
