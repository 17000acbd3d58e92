/** Operators in plain TypeScript against the ONNX project's cases, where they lie beside the checkout. */
import assert from "node:assert/strict";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { plainOperators } from "../../src/plain/registry.ts";
import {
  difference,
  type NodeCase,
  nodeCases,
  readNodeCase,
} from "../onnx/node_cases.ts";

/** Why a case does not give what it should; undefined when it does. */
function failure(given: NodeCase): string | undefined {
  try {
    const { model, dataSets } = readNodeCase(given);
    assert(dataSets.length > 0, "it has no data");
    for (const { inputs, outputs } of dataSets) {
      const results = runPlainGraph(model.graph, inputs);
      for (const [name, expected] of outputs) {
        const found = difference(results.get(name), expected);
        if (found) return `output ${name} ${found}`;
      }
    }
  } catch (error) {
    return (error as Error).message;
  }
}

const cases = nodeCases();

Deno.test("operators of the ONNX project's cases are all supported", () => {
  if (!cases) return console.log("skipped: no ../shared/data/onnx-node-tests");
  const missing = new Set(cases.flatMap(({ ops }) => ops)).difference(
    new Set(Object.keys(plainOperators)),
  );
  assert.deepEqual([...missing], []);
});

for (const [op, own] of Map.groupBy(cases ?? [], ({ op }) => op)) {
  Deno.test(`${op} gives what the ONNX project's cases say`, () => {
    const failures = own.flatMap((given) => {
      const why = failure(given);
      return why === undefined ? [] : [`${given.suite}/${given.name}: ${why}`];
    });
    const reference = own.filter((given) =>
      given.onnxruntime_1_30 === "pass"
    ).length;
    console.log(
      `${op}: ${own.length - failures.length} of ${own.length} cases ` +
        `(ONNX Runtime ${reference})`,
    );
    assert.deepEqual(failures, []);
  });
}
