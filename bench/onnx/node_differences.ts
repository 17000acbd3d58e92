/** Where the values of a file's nodes first differ from a peer's: all of them made results, on both sides. */
import { OnnxError } from "../../src/onnx/place.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  decode,
  encode,
  message,
  text,
  type WireMessage,
} from "../../test/onnx/wire.ts";
import { runRequests } from "../../test/run_requests.ts";
import { createSession, type Ort } from "../kernels/peers/ort.ts";
import type { Elements } from "./inputs.ts";
import { feedsOf } from "./peer.ts";

/** Field numbers of onnx.proto. */
const GRAPH = 7;
const OUTPUT = 12;
const NAME = 1;

/** A value that is not the peer's. */
export interface ValueDifference {
  readonly op: string;
  readonly value: string;
  readonly elements: number;
  readonly different: number;
  /** Largest difference, absolute and in units of the greatest magnitude. */
  readonly most: number;
  readonly relative: number;
}

/** Of one request. */
export interface RequestDifferences {
  /** The first node of which a value differs; undefined: none. */
  readonly first?: ValueDifference;
  /** Bytes that differ, by the value that has them, in order. */
  readonly bytes: readonly ValueDifference[];
  /** Results of the file that differ. */
  readonly results: readonly ValueDifference[];
}

/**
 * @param slotBytes room for requests of which every value is a result
 * @throws OnnxError when a value is none that results can be
 */
export async function nodeDifferences(
  ort: Ort,
  file: Uint8Array,
  inputs: readonly Elements[],
  slotBytes: number,
): Promise<RequestDifferences[]> {
  const { graph, ...rest } = readModel(file);
  const named = new Set(graph.outputs.map(({ name }) => name));
  let made = graph.nodes.flatMap(({ outputs }) => outputs)
    .filter((name) => name !== "" && !named.has(name));
  const modelOf = () => {
    for (;;) {
      const outputs = [
        ...graph.outputs,
        ...made.map((name) => ({ name, type: null, dims: null })),
      ];
      try {
        return onnxModel({ ...rest, graph: { ...graph, outputs } });
      } catch (error) {
        // Of some types there are no rows: these are left out.
        const { message } = error as Error;
        const left = made.filter((name) => !message.includes(`"${name}"`));
        if (!(error instanceof OnnxError) || left.length === made.length) {
          throw error;
        }
        made = left;
      }
    }
  };
  const model = modelOf();
  const session = await createSession(ort, withOutputs(file, made), {
    provider: "wasm",
  });
  const own = runRequests(model, [...inputs], { slotBytes });
  const found: RequestDifferences[] = [];
  for (const [i, input] of inputs.entries()) {
    const theirs = await session.run(feedsOf(ort, model.inputs, [input]));
    const values = graph.nodes.flatMap(({ op, outputs }) =>
      outputs.flatMap((value) => {
        if (own[i][value] === undefined) return [];
        const one = difference(own[i][value].data, theirs[value].data);
        return one.different === 0 ? [] : [{ op, value, ...one }];
      })
    );
    const [first] = values;
    found.push({
      ...(first && { first }),
      bytes: values.filter(({ value }) =>
        theirs[value].data.BYTES_PER_ELEMENT === 1
      ),
      results: values.filter(({ value }) => named.has(value)),
    });
  }
  await session.release();
  return found;
}

function withOutputs(
  file: Uint8Array,
  names: readonly string[],
): Uint8Array<ArrayBuffer> {
  const fields: WireMessage = decode(file);
  return encode(fields.map(([number, value]) => {
    if (number !== GRAPH || !("message" in value)) return [number, value];
    const outputs = names.map((name) => message(OUTPUT, [text(NAME, name)]));
    return message(GRAPH, [...value.message, ...outputs]);
  }));
}

function difference(
  ours: ArrayLike<number | bigint>,
  theirs: ArrayLike<number | bigint>,
) {
  let [different, most, largest] = [0, 0, Number.MIN_VALUE];
  for (let i = 0; i < theirs.length; i++) {
    const [got, wanted] = [Number(ours[i]), Number(theirs[i])];
    largest = Math.max(largest, Math.abs(wanted));
    if (Object.is(got, wanted)) continue;
    different++;
    most = Math.max(most, Math.abs(got - wanted));
  }
  return {
    elements: theirs.length,
    ...{ different, most, relative: most / largest },
  };
}
