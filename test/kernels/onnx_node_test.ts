/** Our kernels against the ONNX project's operator cases, where they lie beside the checkout. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { OnnxHost } from "./onnx_host.ts";
import type { OnnxCase } from "./onnx_case.ts";
import { OPERATORS } from "./onnx_operators.ts";

const FOLDER = new URL(
  "../../../shared/data/onnx-node-tests/json/",
  import.meta.url,
);
/** The ONNX runner's tolerances. */
const [RELATIVE, ABSOLUTE] = [1e-3, 1e-7];

for (const [name, { run, least }] of Object.entries(OPERATORS)) {
  Deno.test(`${name} agrees with the ONNX project's cases`, () => {
    const file = new URL(`${name}.ndjson`, FOLDER);
    if (!existsSync(file)) {
      return console.log(`skipped: ${name}: no ../shared/data/onnx-node-tests`);
    }
    const host = new OnnxHost();
    const cases = readFileSync(file, "utf8").trim().split("\n")
      .map((line) => JSON.parse(line) as OnnxCase);
    let taken = 0;
    for (const given of cases) {
      const results = run(host.fresh(), given);
      if (results === undefined) continue;
      ++taken;
      results.forEach((got, output) => {
        const { data } = given.outputs[output];
        assert.equal(got.length, data.length, given.name);
        data.forEach((expected, i) => {
          const allowed = ABSOLUTE + RELATIVE * Math.abs(Number(expected));
          assert.ok(
            Math.abs(got[i] - Number(expected)) <= allowed ||
              Object.is(got[i], Number(expected)),
            `${given.name}: output ${output}[${i}] is ${
              got[i]
            }, expected ${expected}`,
          );
        });
      });
    }
    assert.ok(taken >= least, `only ${taken} of ${cases.length} cases apply`);
  });
}
