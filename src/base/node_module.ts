/**
 * A module of Node's, in Node and where it is imitated. An import, even one that never runs, is more than
 * some bundlers for browsers put up with.
 * @throws Error in a Node that cannot give one: without files and threads it would pass for a browser
 */
export function nodeModule<Name extends keyof NodeModules>(
  name: Name,
): NodeModules[Name] | undefined {
  const { process } = globalThis as {
    process?: {
      getBuiltinModule?(name: Name): NodeModules[Name];
      readonly versions?: { readonly node?: string };
    };
  };
  if (process?.getBuiltinModule) return process.getBuiltinModule(name);
  const node = process?.versions?.node;
  // Who has the Web's threads imitates Node, and goes on without.
  if (node === undefined || typeof Worker === "function") return undefined;
  throw new Error(
    `@shoal/core needs Node 20.16 or newer of 20, or 22.3 or newer; this is ${node}`,
  );
}

interface NodeModules {
  "node:buffer": typeof import("node:buffer");
  "node:fs": typeof import("node:fs");
  "node:fs/promises": typeof import("node:fs/promises");
  "node:http": typeof import("node:http");
  "node:https": typeof import("node:https");
  "node:net": typeof import("node:net");
  "node:os": typeof import("node:os");
  "node:path": typeof import("node:path");
  "node:process": typeof import("node:process");
  "node:url": typeof import("node:url");
  "node:worker_threads": typeof import("node:worker_threads");
}
