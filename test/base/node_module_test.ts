import assert from "node:assert/strict";
import { nodeModule } from "../../src/base/node_module.ts";

/** What it gives where some globals are others. */
function given(others: { process?: unknown; Worker?: unknown }): unknown {
  const own = Object.keys(others).map((name) =>
    [name, Object.getOwnPropertyDescriptor(globalThis, name)!] as const
  );
  for (const [name, value] of Object.entries(others)) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
  try {
    return nodeModule("node:path");
  } finally {
    for (const [name, descriptor] of own) {
      Object.defineProperty(globalThis, name, descriptor);
    }
  }
}

const OLD = { versions: { node: "18.20.8" } };

Deno.test("modules of Node's are there in Node, and not where it is not", () => {
  assert.equal(typeof nodeModule("node:path")?.join, "function");
  assert.equal(given({ process: undefined }), undefined);
  // As bundlers for browsers, and other runtimes, imitate it.
  const imitated = { env: {}, versions: {} };
  assert.equal(given({ process: imitated, Worker: undefined }), undefined);
  assert.equal(given({ process: OLD }), undefined);
});

Deno.test("a Node that is too old is told so, and not taken for a browser", () => {
  assert.throws(
    () => given({ process: OLD, Worker: undefined }),
    /needs Node 20\.16 or newer of 20, or 22\.3 or newer; this is 18\.20\.8$/,
  );
});
