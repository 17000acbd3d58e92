/** The package's gRPC in whatever runtime executes this file, with npm's server and client of it. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import process from "node:process";
import { cellular, gpt, ServingEngine } from "../../../build/dist/mod.js";
import { createServer, servedTokens } from "../../../build/dist/server.js";
import { listenGrpc } from "../../../build/dist/grpc.js";
import { withCertificate } from "../runtime/certificate.mjs";

const [, , folder, protos] = process.argv;
const require = createRequire(`${folder}package.json`);
const grpc = require("@grpc/grpc-js");
const definition = require("@grpc/proto-loader").loadSync("inference.proto", {
  includeDirs: [protos],
  keepCase: true,
});
const { inference } = grpc.loadPackageDefinition(definition);

const model = gpt({
  layers: 1,
  hidden: 16,
  heads: 2,
  vocabulary: 10,
  positionsMax: 64,
  eos: null,
});
const engine = await ServingEngine.create({
  models: [model],
  policy: cellular(),
});
const server = createServer(engine, {
  models: [servedTokens(model, { name: "writer" })],
});
const listener = await listenGrpc(server, { grpc, port: 0 });
const client = new inference.GRPCInferenceService(
  `127.0.0.1:${listener.port}`,
  grpc.credentials.createInsecure(),
);
const call = (method, message, of = client) =>
  new Promise((resolve, reject) =>
    of[method](
      message,
      (error, answer) => error ? reject(error) : resolve(answer),
    )
  );
const ints = (name, values) => ({
  name,
  datatype: "INT32",
  shape: [values.length],
  contents: { int_contents: values },
});
const asked = {
  model_name: "writer",
  inputs: [ints("tokens", [3, 1, 4]), ints("max_steps", [7])],
};
const alone = await engine.run(model, { tokens: [3, 1, 4], maxSteps: 7 });
const expected = [...alone.outputs.tokens.data];

assert.equal((await call("ServerReady", {})).ready, true);
const answer = await call("ModelInfer", asked);
const of = ({ outputs }) =>
  outputs.find(({ name }) => name === "tokens").contents.int_contents;
assert.deepEqual(of(answer), expected);
await assert.rejects(call("ModelInfer", { model_name: "none" }), {
  code: grpc.status.NOT_FOUND,
});

const stream = client.ModelStreamInfer();
stream.write(asked);
stream.write({ model_name: "none" });
stream.end();
const tokens = [];
const errors = [];
for await (const { error_message, infer_response } of stream) {
  if (error_message) errors.push(error_message);
  else tokens.push(...of(infer_response));
}
assert.deepEqual(tokens, expected);
assert.equal(errors.length, 1);

if (!("Deno" in globalThis)) {
  await withCertificate(async ({ ca, cert, key }) => {
    const secure = await listenGrpc(server, {
      ...{ grpc, port: 0, tls: { cert, key } },
    });
    const clientOf = (credentials) =>
      new inference.GRPCInferenceService(
        `localhost:${secure.port}`,
        credentials,
      );
    const trusting = clientOf(grpc.credentials.createSsl(Buffer.from(ca)));
    assert.deepEqual(of(await call("ModelInfer", asked, trusting)), expected);
    // Who does not know who has signed it, and who does not encrypt, are not served.
    for (const how of ["createSsl", "createInsecure"]) {
      const other = clientOf(grpc.credentials[how]());
      await assert.rejects(call("ServerLive", {}, other), {
        code: grpc.status.UNAVAILABLE,
      });
      other.close();
    }
    trusting.close();
    await secure.close(1000);
  });
}

client.close();
await listener.close(1000);
await server.close();
await engine.close();
console.log("ok");
