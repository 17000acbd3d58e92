/**
 * Networks of other families than those that lie beside the checkout: beside the plain graph, and the same bits alone
 * and in mixed batches under every policy.
 */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import type { PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { EXPORTED_IMAGES } from "./exported_images.ts";
import { EXPORTED_SEQUENCES } from "./exported_sequences.ts";
import { EXPORTED_WINDOWS } from "./exported_windows.ts";
import { given, near, type Request } from "./sequence_checks.ts";
import { Writer } from "./sequence_models.ts";
import { BATCHING } from "./step_cases.ts";

const SEED = 41;
const REQUESTS = 5;

for (
  const [name, exported] of Object.entries({
    ...EXPORTED_IMAGES,
    ...EXPORTED_SEQUENCES,
    ...EXPORTED_WINDOWS,
  })
) {
  Deno.test(`${name} gives what its file does, alone and in batches (seed ${SEED})`, () => {
    const { inputs, outputs, opset, sizes = {}, write, drawn } = exported;
    const prng = new Prng(SEED);
    const writer = new Writer(prng);
    write(writer);
    const file = writer.read(inputs, outputs, opset);
    const requests: Request[] = Array.from({ length: REQUESTS }, () => {
      const others: Readonly<Record<string, PlainTensor>> = drawn?.(prng) ?? {};
      return new Map(inputs.map(({ name, dims }) => [
        name,
        others[name] ?? writer.drawn(
          "float32",
          dims!.map((size) =>
            typeof size === "number" ? size : sizes[size ?? ""] ?? 1
          ),
        ),
      ]));
    });
    for (const cells of ["layer", "model"] as const) {
      const model = onnxModel(file, { cells, sizes });
      for (const request of requests) near(model, file, request, cells);
      const asked = requests.map(given);
      const alone = asked.map((request) => runRequests(model, [request])[0]);
      for (const [policy, options] of Object.entries(BATCHING)) {
        assert.deepEqual(
          runRequests(model, asked, {
            policy: POLICIES[policy].build(options),
            workers: 2,
            gapNs: 900,
          }),
          alone,
          `${cells} under ${policy}`,
        );
      }
    }
  });
}
