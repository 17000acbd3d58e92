/** `ModelProto` of onnx.proto. */
import {
  anything,
  checkedOptions,
  type Checks,
  ofType,
} from "../../base/checked_options.ts";
import { fileBytes } from "../../base/bytes.ts";
import { describe, shorten } from "../../base/describe.ts";
import type { OnnxModel } from "../ir.ts";
import { Place, quoted } from "../place.ts";
import { GraphChecker } from "./check_graph.ts";
import { ReadContext } from "./context.ts";
import { ExternalData, type ExternalFiles } from "./external_data.ts";
import { FunctionInliner } from "./inline_functions.ts";
import { ProtoMessage } from "../../base/proto_message.ts";
import type { Message } from "./message.ts";
import type { RawFunction } from "./raw_graph.ts";
import { readAttribute } from "./read_attribute.ts";
import { checkNarrow } from "./narrow_integers.ts";
import { domainOf, readGraph, readNode } from "./read_graph.ts";

const MODEL = {
  irVersion: 1,
  producerName: 2,
  producerVersion: 3,
  graph: 7,
  opsetImport: 8,
  metadataProps: 14,
  functions: 25,
};

const FUNCTION = {
  name: 1,
  input: 4,
  output: 5,
  node: 7,
  opsetImport: 9,
  domain: 10,
  attributeProto: 11,
  overload: 13,
};

const ENTRY = { key: 1, value: 2 };
const OPSET = { domain: 1, version: 2 };

/** The first format with operator sets (2017-11-03). */
const IR_VERSION_MIN = 3;

/** The newest operator set that is known; what a newer one means by its operators is not. */
const OPSET_MAX = 28;

/** Characters that a message repeats of the file's name. */
const LABEL_SHOWN = 60;

/** How a model is read. */
export interface ReadOptions {
  /** What to call the model in messages, e.g. its file's name; "the model" by default. */
  label?: string;
  /** Files beside the model, for those that keep tensors there; none by default. */
  external?: ExternalFiles;
}

const READ_CHECKS: Checks<ReadOptions> = {
  // Whatever it is, messages describe it.
  label: anything,
  external: ofType("function"),
};

/**
 * Reads an ONNX file: every part of it is checked, functions of the model are inlined, nodes are put in an order in
 * which they can run. Time and memory are in proportion to the file, whatever is in it.
 * @param file the whole file
 * @throws OnnxError naming the node and attribute when the file is cut off, malformed, or has what is not read
 * (sparse tensors, strings, floats of 8 bits, sequences that it brings or gives); TypeError when the
 * file is no bytes, or an option is none
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { readModel } from "@shoal/core/onnx";
 *
 * // Usually read from a file.
 * const text = atob(
 *   "CAkSBmEgdGVzdDpDChIKAXgSAXkaBHJlbHUiBFJlbHUSAWdaFAoBeBIPCg0IARIJCgMSAW4K" +
 *     "AggCYhQKAXkSDwoNCAESCQoDEgFuCgIIAkIECgAQFA==",
 * );
 * const file = Uint8Array.from(text, (c) => c.charCodeAt(0));
 * const { graph } = readModel(file, { label: "relu.onnx" });
 * assert.deepEqual(graph.inputs, [
 *   { name: "x", type: "float32", dims: ["n", 2] },
 * ]);
 * assert.deepEqual(graph.nodes.map(({ op }) => op), ["Relu"]);
 *
 * assert.throws(
 *   () => readModel(file.subarray(0, 40), { label: "relu.onnx" }),
 *   /^OnnxError: Cannot load relu.onnx: it is cut off or no ONNX file/,
 * );
 * ```
 */
export function readModel(
  file: Uint8Array | ArrayBufferLike,
  options: ReadOptions = {},
): OnnxModel {
  const { label = "the model", external = () => undefined } = checkedOptions(
    "readModel()",
    options,
    READ_CHECKS,
  );
  const name = typeof label === "string" ? label : describe(label);
  const place = new Place(shorten(name, LABEL_SHOWN));
  const context = new ReadContext(new ExternalData(external));
  const message = new ProtoMessage(bytesOf(file, place), place, context.budget);
  const irVersion = message.int(MODEL.irVersion);
  const raw = message.message(MODEL.graph, "graph");
  if (raw === undefined) {
    return place.fail("it is no ONNX file: it has no graph");
  }
  if (irVersion < IR_VERSION_MIN) {
    place.fail(
      `it is of format ${irVersion}; the oldest that is read is ${IR_VERSION_MIN}`,
    );
  }
  const opsets = opsetsOf(message, MODEL.opsetImport);
  const inliner = new FunctionInliner(
    message.messages(
      MODEL.functions,
      (called) => readFunction(called, context),
    ),
    opsets,
    place,
  );
  const checker = new GraphChecker();
  const inlined = inliner.graph(readGraph(raw, context));
  checkNarrow(inlined, place);
  const graph = checker.model(inlined, place, irVersion);
  const [producer, version] = [
    message.text(MODEL.producerName),
    message.text(MODEL.producerVersion),
  ];
  return {
    label: place.what,
    irVersion,
    producer: [producer, version].filter((text) => text !== "").join(" "),
    opsets,
    metadata: new Map(
      message.messages(
        MODEL.metadataProps,
        (entry) => [entry.text(ENTRY.key), entry.text(ENTRY.value)] as const,
      ),
    ),
    graph,
    notes: [...context.notes(), ...constantInputs(checker.constants)],
  };
}

function constantInputs(names: readonly string[]): string[] {
  return names.length === 0 ? [] : [
    `${names.length} inputs have values in the file and are taken as constants, ` +
    `the first ${quoted(names[0])}`,
  ];
}

function opsetsOf(message: Message, field: number): Map<string, number> {
  const { place } = message;
  const opsets = new Map<string, number>();
  message.messages(field, (entry) => {
    const domain = domainOf(entry.text(OPSET.domain));
    const version = entry.int(OPSET.version);
    if (!Number.isSafeInteger(version) || version < 1) {
      place.fail(
        `the version of the operators of domain ${
          quoted(domain)
        } is a number from 1, got ${version}`,
      );
    }
    if (domain === "" && version > OPSET_MAX) {
      place.fail(
        `it is of operator set ${version}; the newest that is read is ${OPSET_MAX}`,
      );
    }
    opsets.set(domain, Math.max(version, opsets.get(domain) ?? 0));
  });
  return opsets;
}

function readFunction(message: Message, context: ReadContext): RawFunction {
  const name = message.text(FUNCTION.name);
  const place = message.place.in(`function ${quoted(name)}`);
  const at = message.at(place);
  return {
    name,
    domain: domainOf(message.text(FUNCTION.domain)),
    overload: message.text(FUNCTION.overload),
    inputs: at.texts(FUNCTION.input),
    outputs: at.texts(FUNCTION.output),
    defaults: new Map(
      at.messages(
        FUNCTION.attributeProto,
        (attribute) =>
          readAttribute(
            attribute,
            context,
            (graph) => readGraph(graph, context),
          ),
      ),
    ),
    nodes: at.messages(FUNCTION.node, (node) => readNode(node, context)),
    opsets: opsetsOf(at, FUNCTION.opsetImport),
  };
}

/** The file's bytes; copied where they are shared, since decoders of text refuse those. */
function bytesOf(
  file: Uint8Array | ArrayBufferLike,
  place: Place,
): Uint8Array {
  const bytes = fileBytes(file);
  if (bytes === undefined) {
    throw new TypeError(
      `Cannot load ${place}: a file is a Uint8Array or an ArrayBuffer, got ${
        describe(file)
      }`,
    );
  }
  const start = String.fromCharCode(...bytes.subarray(0, POINTER.length));
  if (start === POINTER) {
    place.fail(
      "Git LFS has left a pointer in the file's place; get the file with git lfs pull",
    );
  }
  return bytes.buffer instanceof ArrayBuffer ? bytes : new Uint8Array(bytes);
}

/** How a pointer begins, by the specification of Git LFS (docs/spec.md of git-lfs). */
const POINTER = "version https://git-lfs.";
