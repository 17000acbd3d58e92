/**
 * Models of int8 beside ONNX Runtime, element by element: the small ones of the tests, and files quantised by `shoal
 * quantize`. Says where bits are equal; nothing is timed.
 *
 * Run: deno task bench:int8 [PATH...] [--requests 4] [--recurrent] [--nodes] [--json]
 */
import { readFileSync } from "node:fs";
import { Prng } from "../../src/base/prng.ts";
import { integerOption, taskSettings } from "../../src/cli/options.ts";
import { print, progress } from "../../src/cli/terminal.ts";
import { type OnnxCellModel, onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { quantizeOnnx } from "../../src/onnx/quantize.ts";
import { CASES, drawn } from "../../test/onnx/quantized_cases.ts";
import { writtenCase } from "../../test/onnx/quantized_files.ts";
import { runRequests } from "../../test/run_requests.ts";
import { install, requirePeer } from "../kernels/peers/install.ts";
import {
  createSession,
  loadOrtWeb,
  type Ort,
  ORT_VERSION,
} from "../kernels/peers/ort.ts";
import { filesOf, type ModelFile } from "./files.ts";
import { drawnInput, type Elements } from "./inputs.ts";
import {
  nodeDifferences,
  type RequestDifferences,
  type ValueDifference,
} from "./node_differences.ts";
import { feedsOf } from "./peer.ts";

const SLOT_BYTES = 2 ** 28;
const REQUESTS_MAX = 1000;
const MAX_ID = 100;
const BYTES_SHOWN = 6;

const { files, requests, recurrent, nodes, json } = taskSettings({
  name: "bench:int8",
  positionalsMax: 1000,
  help: `bench:int8 [PATH...] [options]

Models of int8 beside onnxruntime-web and onnxruntime-node (installed when they are missing), element by element: the
small ones of the tests, and the files given, quantised.

  PATH              a file of floats; a folder is searched for *.onnx
  --requests N      seeded requests of each (default 4)
  --recurrent       LSTMs of the files are quantised, too
  --nodes           of the files, which node differs first from onnxruntime-web, and which bytes
  --json            the counts as JSON
`,
  options: {
    requests: { type: "string" },
    recurrent: { type: "boolean", default: false },
    nodes: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
}, ({ values, positionals }) => ({
  files: positionals.length === 0 ? [] : filesOf(positionals),
  requests: integerOption("requests", values.requests, 4, {
    min: 1,
    max: REQUESTS_MAX,
  }),
  recurrent: values.recurrent,
  nodes: values.nodes,
  json: values.json,
}));

/** What a peer's results are to ours. */
interface Compared {
  readonly elements: number;
  readonly different: number;
  /** Largest difference, in units of the greatest magnitude of its output. */
  readonly most: number;
}

install({ "onnxruntime-node": ORT_VERSION });
const peers: readonly { name: string; ort: Ort; provider: "wasm" | "cpu" }[] = [
  { name: "web", ort: await loadOrtWeb(), provider: "wasm" },
  {
    name: "node",
    ort: requirePeer("onnxruntime-node") as Ort,
    provider: "cpu",
  },
];

function numbersOf(
  { data }: { data: ArrayLike<number> | ArrayLike<bigint> },
): number[] {
  return Array.from(data as ArrayLike<number | bigint>, Number);
}

async function compared(
  file: Uint8Array,
  model: OnnxCellModel,
  inputs: readonly Elements[],
): Promise<Record<string, Compared | string>> {
  const own = runRequests(model, [...inputs], { slotBytes: SLOT_BYTES });
  const found: Record<string, Compared | string> = {};
  for (const { name: peer, ort, provider } of peers) {
    try {
      const session = await createSession(ort, file, { provider });
      let [elements, different, most] = [0, 0, 0];
      for (const [i, input] of inputs.entries()) {
        const theirs = await session.run(feedsOf(ort, model.inputs, [input]));
        for (const { name } of model.results) {
          const got = numbersOf(own[i][name]);
          const data = numbersOf(theirs[name]);
          const largest = data.reduce(
            (most, value) => Math.max(most, Math.abs(value)),
            Number.MIN_VALUE,
          );
          data.forEach((value, at) => {
            if (Object.is(value, got[at])) return;
            different++;
            most = Math.max(most, Math.abs(value - got[at]) / largest);
          });
          elements += data.length;
        }
      }
      await session.release();
      found[peer] = { elements, different, most };
    } catch (error) {
      found[peer] = (error as Error).message.split("\n")[0];
    }
  }
  return found;
}

const results: {
  name: string;
  peers: Record<string, Compared | string>;
  nodes?: readonly RequestDifferences[];
}[] = [];

for (const [name, made] of Object.entries(CASES)) {
  const file = writtenCase(made, made);
  const inputs = Array.from({ length: requests }, () =>
    Object.fromEntries(
      Object.entries(made.inputs).map((
        [input, spec],
      ) => [input, drawn(spec).data]),
    ) as Elements);
  const model = onnxModel(readModel(file));
  results.push({ name, peers: await compared(file, model, inputs) });
}

async function quantised({ path, name }: ModelFile): Promise<void> {
  progress(name);
  const { bytes } = await quantizeOnnx(new Uint8Array(readFileSync(path)), {
    recurrent,
  });
  const model = onnxModel(readModel(bytes));
  const prng = new Prng(1).fork(name);
  const inputs = Array.from(
    { length: requests },
    () => drawnInput(model.inputs, prng, MAX_ID),
  );
  results.push({
    name,
    peers: await compared(bytes, model, inputs),
    ...(nodes && {
      nodes: await nodeDifferences(peers[0].ort, bytes, inputs, SLOT_BYTES),
    }),
  });
}
for (const file of files) await quantised(file);

if (json) print(JSON.stringify({ version: ORT_VERSION, requests, results }));
else {
  print(`${requests} requests each, ONNX Runtime ${ORT_VERSION}`);
  for (const { name, peers, nodes = [] } of results) {
    const found = Object.entries(peers).map(([peer, one]) =>
      `${peer} ${textOf(one)}`
    );
    print(`${name}: ${found.join("; ")}`);
    for (const [i, one] of nodes.entries()) print(nodesText(i, one));
  }
}

function nodesText(
  i: number,
  { first, bytes, results }: RequestDifferences,
): string {
  const valueText = ({ op, value, ...one }: ValueDifference) =>
    `${value} (${op}) ${one.different} of ${one.elements} by ${
      one.most.toExponential(1)
    }, ${one.relative.toExponential(1)} of the largest`;
  if (first === undefined) return `  request ${i}: equal`;
  const some = bytes.slice(0, BYTES_SHOWN).map((one) =>
    `${one.value} ${one.different} of ${one.elements}`
  );
  return [
    `  request ${i}: first ${valueText(first)}`,
    `    bytes: ${bytes.length === 0 ? "equal" : some.join(", ")}`,
    ...results.map((one) => `    result ${valueText(one)}`),
  ].join("\n");
}

function textOf(found: Compared | string): string {
  if (typeof found === "string") return found;
  const { elements, different, most } = found;
  return different === 0
    ? "equal"
    : `${different} of ${elements} differ, by ${most.toExponential(1)}`;
}
