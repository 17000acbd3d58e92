import assert from "node:assert/strict";
import { grpcCaution } from "../../src/cli/serve/load_grpc.ts";

Deno.test("releases of Deno that end under gRPC are told of, no others", () => {
  for (const release of ["2.9.4", "2.9.5", "2.9.6"]) {
    assert.match(grpcCaution(release)!, new RegExp(`^Deno ${release} ends`));
  }
  // Node and Bun have none.
  for (const other of ["2.8.5", "2.9.0", "2.9.3", "2.9.7", "2.10.4", ""]) {
    assert.equal(grpcCaution(other), undefined, other);
  }
});
