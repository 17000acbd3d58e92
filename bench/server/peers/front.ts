/** What the peers have in front of their model: node:http, `/v1/embeddings`, and `infer` with tensors as bytes. */
import http from "node:http";

/** What a peer does. */
export interface PeerModel {
  /** A row of unit length. @returns how many tokens the text has, too */
  embed(text: string): Promise<{ row: Float32Array; tokens: number }>;
  /** The output "head" of tokens that are all looked at, as it comes out of the model. */
  infer(ids: BigInt64Array): Promise<Float32Array>;
  /** Tokens that were computed, and those for nothing, since the last time. */
  counts(): { tokens: number; padding: number };
}

const HEADER_LENGTH = "inference-header-content-length";

interface Answer {
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Serves it on a port, says so and never ends. */
export function servePeer(model: PeerModel, port: number): void {
  let cpuBefore = process.cpuUsage();
  http.createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", async () => {
      try {
        const { body, headers } = await answer(
          `${request.url}`,
          Buffer.concat(pieces),
          Number(request.headers[HEADER_LENGTH]),
        );
        response.setHeader("content-type", "application/json");
        for (const [name, value] of Object.entries(headers ?? {})) {
          response.setHeader(name, value);
        }
        response.end(body);
      } catch (error) {
        response.statusCode = 500;
        response.end(JSON.stringify({ error: `${error}` }));
      }
    });
  }).listen(port, "127.0.0.1", () => console.log("listening"));

  async function answer(
    path: string,
    body: Buffer,
    jsonBytes: number,
  ): Promise<Answer> {
    if (path === "/counts") {
      const { user, system } = process.cpuUsage(cpuBefore);
      cpuBefore = process.cpuUsage();
      const counts = { ...model.counts(), cpuS: (user + system) / 1e6 };
      return { body: JSON.stringify(counts) };
    }
    if (path === "/v1/embeddings") {
      const { input, encoding_format } = JSON.parse(body.toString());
      const { row, tokens } = await model.embed(input);
      const embedding = encoding_format === "base64"
        ? Buffer.from(row.buffer, row.byteOffset, row.byteLength)
          .toString("base64")
        : Array.from(row);
      return {
        body: JSON.stringify({
          ...{ object: "list", model: "bert" },
          data: [{ object: "embedding", index: 0, embedding }],
          usage: { prompt_tokens: tokens, total_tokens: tokens },
        }),
      };
    }
    return await inferred(body, jsonBytes);
  }

  /** The ids are the first tensor; masks and types of one sentence say nothing that they do not. */
  async function inferred(body: Buffer, jsonBytes: number): Promise<Answer> {
    const { inputs: [{ parameters }] } = JSON.parse(
      body.toString("utf8", 0, jsonBytes),
    );
    const { binary_data_size: size } = parameters;
    const ids = new BigInt64Array(size / 8);
    body.copy(new Uint8Array(ids.buffer), 0, jsonBytes, jsonBytes + size);
    const row = await model.infer(ids);
    const head = Buffer.from(JSON.stringify({
      model_name: "bert",
      outputs: [{
        ...{ name: "head", datatype: "FP32", shape: [1, row.length] },
        parameters: { binary_data_size: row.byteLength },
      }],
    }));
    const bytes = new Uint8Array(row.buffer, row.byteOffset, row.byteLength);
    return {
      body: Buffer.concat([head, bytes]),
      headers: {
        "content-type": "application/octet-stream",
        [HEADER_LENGTH]: `${head.length}`,
      },
    };
  }
}

/** Scaled to unit length. */
export function normalised(row: Float32Array): Float32Array {
  const length = Math.hypot(...row) || 1;
  return row.map((value) => value / length);
}
