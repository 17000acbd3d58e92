/** `@grpc/grpc-js`, which is no part of the package: looked for when it is needed, and no sooner. */
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import type { GrpcModule } from "../../server/grpc/grpc_module.ts";
import { UsageError } from "../terminal.ts";

const NAME = "@grpc/grpc-js";

/**
 * What is installed where the command is run, or beside this package.
 * @throws UsageError where there is none
 */
export function loadGrpc(): GrpcModule {
  for (const from of [join(process.cwd(), "package.json"), import.meta.url]) {
    const require = createRequire(from);
    try {
      require.resolve(NAME);
    } catch {
      continue;
    }
    return require(NAME);
  }
  throw new UsageError(
    `gRPC needs ${NAME}, which is not installed here: npm install ${NAME}`,
  );
}

/** Releases of Deno 2.9 whose HTTP/2 servers corrupt memory; see docs/server.md. */
const [FIRST, LAST] = [4, 6];

/**
 * What to know before gRPC is served in this runtime; undefined where there is nothing.
 * @param deno its release, where it is Deno
 */
export function grpcCaution(
  deno: string | undefined = process.versions["deno"],
): string | undefined {
  const [, release] = /^2\.9\.(\d+)$/.exec(deno ?? "") ?? [];
  if (!(Number(release) >= FIRST && Number(release) <= LAST)) return undefined;
  return `Deno ${deno} ends when a connection closes that had some hundred calls of gRPC: ` +
    `take an earlier release (2.9.${FIRST - 1}), Node or Bun`;
}
