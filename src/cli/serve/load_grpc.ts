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
