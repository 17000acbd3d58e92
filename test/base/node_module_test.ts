import assert from "node:assert/strict";
import { nodeModule } from "../../src/base/node_module.ts";
import { withGlobals } from "./with_globals.ts";

const given = (others: { process?: unknown; Worker?: unknown }) =>
  withGlobals(others, () => nodeModule("node:path"));

const OLD = { versions: { node: "18.20.8" } };

Deno.test("modules of Node's are there in Node, and not where it is not", async () => {
  assert.equal(typeof nodeModule("node:path")?.join, "function");
  assert.equal(await given({ process: undefined }), undefined);
  // As bundlers for browsers, and other runtimes, imitate it.
  const imitated = { env: {}, versions: {} };
  assert.equal(
    await given({ process: imitated, Worker: undefined }),
    undefined,
  );
  assert.equal(await given({ process: OLD }), undefined);
});

Deno.test("a Node that is too old is told so, and not taken for a browser", async () => {
  await assert.rejects(
    given({ process: OLD, Worker: undefined }),
    /needs Node 20\.16 or newer of 20, or 22\.3 or newer; this is 18\.20\.8$/,
  );
});
