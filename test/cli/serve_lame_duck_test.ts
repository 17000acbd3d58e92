/** `shoal serve --lame-duck-ms`: after SIGTERM whoever asks is told that it is not ready, and it serves. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { folderOf } from "../../bench/kernels/peers/install.ts";
import { freePort } from "../browsers.ts";
import { grpcClient } from "../server/grpc/client.ts";
import { answerOf, requestOf } from "../server/oip/client.ts";
import { scaleFile, TestFolder } from "../server/repository/folders.ts";
import { LISTENING, Running } from "./serving_process.ts";

const X = { name: "x", datatype: "FP32", shape: [1, 2] };

/** What HAProxy's agent-check reads. */
function agentLine(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    connect(port, "127.0.0.1")
      .on("data", (bytes) => text += bytes)
      .on("end", () => resolve(text))
      .on("error", reject);
  });
}

Deno.test("everything that says whether it is ready says no, what is asked is answered, and a second signal ends it", async () => {
  using folder = new TestFolder();
  folder.write("scale/model.onnx", scaleFile(2));
  // Options go before it.
  folder.write("shoal.json", { lame_duck_ms: 1, workers: 0 });
  const agentPort = await freePort();
  await using running = new Running(["-A"], [
    ...[folder.path, "--port", "0", "--lame-duck-ms", "3600000"],
    ...["--grpc-port", "0", "--agent-port", `${agentPort}`],
  ], fileURLToPath(new URL("../..", folderOf("x"))));
  const url = await running.until(LISTENING);
  const grpcPort = await running.until(/^gRPC at \S+:(\d+)$/m);
  const [client, health] = (["inference", "health"] as const).map((service) =>
    grpcClient(`127.0.0.1:${grpcPort}`, { service })
  );
  const said = async () => {
    const status = async (path: string) => {
      const response = await fetch(`${url}${path}`);
      await response.body?.cancel();
      return response.status;
    };
    return {
      live: await status("v2/health/live"),
      ready: await status("v2/health/ready"),
      model: await status("v2/models/scale/ready"),
      health: await status("health"),
      grpcLive: (await client.call("ServerLive", {}))["live"],
      grpcReady: (await client.call("ServerReady", {}))["ready"],
      grpcModel: (await client.call("ModelReady", { name: "scale" }))["ready"],
      grpcHealth: (await health.call("Check", {}))["status"],
      agent: await agentLine(agentPort),
    };
  };
  const scaled = async () => {
    const x = { ...X, values: [1, 2] };
    const response = await fetch(
      `${url}v2/models/scale/infer`,
      requestOf([[x, "binary"]]),
    );
    const { outputs } = await client.call("ModelInfer", {
      model_name: "scale",
      inputs: [{ ...X, contents: { fp32_contents: [1, 2] } }],
    });
    const [{ contents }] = outputs as { contents: object }[];
    return {
      http: (await answerOf(response)).outputs[0].values,
      connection: response.headers.get("connection"),
      grpc: (contents as { fp32_contents: number[] }).fp32_contents,
    };
  };
  const answers = { http: [2, 4], grpc: [2, 4] };
  const live = { live: 200, grpcLive: true };
  assert.deepEqual(await said(), {
    ...{ ...live, ready: 200, model: 200, health: 200 },
    ...{ grpcReady: true, grpcModel: true },
    ...{ grpcHealth: "SERVING", agent: "ready up 100%\n" },
  });
  assert.deepEqual(await scaled(), { ...answers, connection: null });
  running.signal("SIGTERM");
  await running.until(/^leaving: .* another 3600000 ms$/m, "err");
  assert.deepEqual(await said(), {
    ...{ ...live, ready: 503, model: 503, health: 503 },
    ...{ grpcReady: false, grpcModel: false },
    ...{ grpcHealth: "NOT_SERVING", agent: "drain\n" },
  });
  // On a new connection each: the answer says that none is kept.
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(await scaled(), { ...answers, connection: "close" });
  }
  for (const each of [client, health]) each.close();
  running.signal("SIGTERM");
  assert.equal(await running.ended, 0, running.err);
  assert.match(running.err, /^ending: /m);
  await assert.rejects(fetch(url));
});
