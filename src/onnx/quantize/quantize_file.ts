/**
 * A file with weights of bytes: products and convolutions whose weights are constant become products of bytes, and
 * LSTMs, where that is asked for, steps of bytes (see layer_nodes.ts). Everything else of the file stays as it is, byte
 * for byte.
 */
import { describe } from "../../base/describe.ts";
import { checkedOptions, listOf, ofType } from "../../base/checked_options.ts";
import { CONTRIB_DOMAIN } from "../domains.ts";
import { Place, quoted } from "../place.ts";
import type { ExternalFiles } from "../read/external_data.ts";
import { readModel } from "../read/read_model.ts";
import { simplify } from "../simplify/simplify.ts";
import { LayerNodes, type QuantizedLayer } from "./layer_nodes.ts";
import { findLayers, type LeftLayer, nameOf } from "./layers.ts";
import {
  changedNode,
  IR_NEEDED,
  leftOut,
  OPSET_NEEDED,
} from "./raise_opset.ts";
import { GRAPH, StoredGraph } from "./stored_graph.ts";
import { unneeded } from "./unneeded.ts";
import {
  bytesField,
  fieldsOf,
  insideOf,
  integerField,
  integerOf,
  joined,
  textField,
  textOf,
  type WireField,
} from "./wire_fields.ts";
import { nodeBytes, tensorBytes } from "./write_parts.ts";

const MODEL = { irVersion: 1, graph: 7, opsetImport: 8, functions: 25 };
const OPSET = { domain: 1, version: 2 };
const CONTRIB_VERSION = 1;
const TENSOR_NAME = 8;
const VALUE_NAME = 1;

/** Formats up to this one have every initializer among the inputs, too. */
const IR_INITIALIZERS_ARE_INPUTS = 3;

/** Bytes of a protobuf file: lengths are of 31 bits. */
const FILE_BYTES_MAX = 2 ** 31 - 1;

/** How weights become bytes. */
export interface QuantizeOptions {
  /** Names of nodes that stay as they are; default none. */
  exclude?: readonly string[];
  /**
   * Bits of a weight, default 8. With 7 two products fit 16 bits together, which is how ONNX Runtime adds them up on
   * x86 processors without VNNI (its documentation on quantisation, "reduce_range").
   */
  bits?: 7 | 8;
  /**
   * Whether LSTMs become DynamicQuantizeLSTM, an operator that is not ONNX's but ONNX Runtime's (`com.microsoft`), as
   * its `quantize_dynamic` writes it; read here, too. Default false: they stay float32.
   */
  recurrent?: boolean;
}

/** What a file has become. */
export interface QuantizedFile {
  /** The new file. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bytes of the file as it was; others beside it are not counted. */
  readonly bytesBefore: number;
  /** Layers whose weights are bytes now. */
  readonly layers: readonly QuantizedLayer[];
  /** Layers with weights that stay as they were, and why. */
  readonly left: readonly LeftLayer[];
  /** What else is not as in the file, in sentences. */
  readonly notes: readonly string[];
}

const CHECKS = {
  exclude: listOf(ofType("string")),
  recurrent: ofType("boolean"),
  bits: (option: string, value: unknown) => {
    if (value === 7 || value === 8) return;
    throw new TypeError(`"${option}" is 7 or 8, got ${describe(value)}`);
  },
};

/**
 * Quantises the weights of a file, symmetrically and each output by itself; what they are multiplied with is quantised
 * when a request runs.
 * @param file the whole file
 * @param around what messages call it, and files beside it, whose tensors are put into the new one
 * @throws OnnxError when the file is no model, or one that cannot be written so; TypeError on other options
 */
export function quantizeFile(
  file: Uint8Array,
  { label, external }: { label: string; external: ExternalFiles },
  options: QuantizeOptions,
): QuantizedFile {
  const { exclude = [], bits = 8, recurrent = false } = checkedOptions(
    "quantizeOnnx",
    options,
    CHECKS,
  );
  const model = readModel(file, { label, external });
  const { values } = simplify(model);
  const place = new Place(model.label);
  const fields = fieldsOf(file);
  const graph = new StoredGraph(
    insideOf(fields.find(({ number }) => number === MODEL.graph)!),
    place,
    external,
  );
  for (const name of exclude) {
    if (graph.raw.nodes.some((node) => nameOf(node) === name)) continue;
    place.fail(`there is no node ${quoted(name)} to leave as it is`);
  }
  const { layers, left } = findLayers(
    graph.raw,
    values,
    (name) => graph.isFloat32(name),
    { excluded: new Set(exclude), recurrent },
  );
  const nodes = new LayerNodes(graph, values, bits);
  const made = layers.map((layer) => nodes.add(layer));
  const notes: string[] = [];
  const versions = layers.length === 0 ? undefined : raisedVersions(
    fields,
    graph,
    layers.some(({ node }) => node.op === "LSTM"),
    notes,
  );
  const bytes = written(fields, graphParts(graph, nodes, versions), versions);
  if (bytes === undefined) {
    return place.fail(
      `with what is in other files it is larger than ${FILE_BYTES_MAX} bytes, the most of a file`,
    );
  }
  return { bytes, bytesBefore: file.length, layers: made, left, notes };
}

/** Versions that a file needs. */
interface Versions {
  readonly opset: number;
  readonly irVersion: number;
  /** The operator set is not the file's. */
  readonly isRaised: boolean;
  /** Initializers are inputs no more. */
  readonly dropsInputs: boolean;
  /** ONNX Runtime's own operators are to be named. */
  readonly addsContrib: boolean;
}

/** @throws OnnxError when a node means something else then */
function raisedVersions(
  fields: readonly WireField[],
  { raw, place }: StoredGraph,
  needsContrib: boolean,
  notes: string[],
): Versions {
  const irVersion = integerOf(fields, MODEL.irVersion) ?? 0;
  const opset = Math.max(
    ...fields.filter(isOwnOpset).map((field) =>
      integerOf(fieldsOf(insideOf(field)), OPSET.version) ?? 0
    ),
  );
  const dropsInputs = irVersion <= IR_INITIALIZERS_ARE_INPUTS;
  const isOld = opset < OPSET_NEEDED;
  const raised = isOld || dropsInputs
    ? Math.max(irVersion, IR_NEEDED)
    : irVersion;
  if (isOld) {
    const changed = changedNode(raw, opset);
    if (changed) {
      place.node({ ...changed, outputs: [] }).fail(
        `the file is of operator set ${opset}, bytes need ${OPSET_NEEDED}, where ${changed.op} is written ` +
          "otherwise: convert the file first (onnx.version_converter)",
      );
    }
    if (fields.some(({ number }) => number === MODEL.functions)) {
      place.fail(
        `the file is of operator set ${opset} and has functions; bytes need ${OPSET_NEEDED}`,
      );
    }
    notes.push(`operator set ${opset} has become ${OPSET_NEEDED}`);
  }
  if (raised !== irVersion) {
    notes.push(`file format ${irVersion} has become ${raised}`);
  }
  return {
    opset: Math.max(opset, OPSET_NEEDED),
    irVersion: raised,
    isRaised: isOld,
    dropsInputs,
    addsContrib: needsContrib &&
      !fields.some((field) => domainOf(field) === CONTRIB_DOMAIN),
  };
}

function isOwnOpset(field: WireField): boolean {
  const domain = domainOf(field);
  return domain === "" || domain === "ai.onnx";
}

/** Of which operators a field names the version; undefined where it is another field. */
function domainOf(field: WireField): string | undefined {
  return field.number === MODEL.opsetImport
    ? textOf(fieldsOf(insideOf(field)), OPSET.domain)
    : undefined;
}

/** The new file; undefined where it is too large for one. */
function written(
  fields: readonly WireField[],
  graph: readonly Uint8Array[],
  versions: Versions | undefined,
): Uint8Array<ArrayBuffer> | undefined {
  const size = (parts: readonly Uint8Array[]) =>
    parts.reduce((sum, { length }) => sum + length, 0);
  if (size(graph) > FILE_BYTES_MAX) return undefined;
  const parts = fields.map((field) => {
    const { number, bytes } = field;
    if (number === MODEL.graph) return bytesField(MODEL.graph, graph);
    if (versions === undefined) return bytes;
    if (number === MODEL.irVersion) {
      return integerField(MODEL.irVersion, versions.irVersion);
    }
    return isOwnOpset(field)
      ? bytesField(MODEL.opsetImport, [
        textField(OPSET.domain, ""),
        integerField(OPSET.version, versions.opset),
      ])
      : bytes;
  });
  if (versions?.addsContrib) {
    parts.push(bytesField(MODEL.opsetImport, [
      textField(OPSET.domain, CONTRIB_DOMAIN),
      integerField(OPSET.version, CONTRIB_VERSION),
    ]));
  }
  return size(parts) > FILE_BYTES_MAX ? undefined : joined(parts);
}

/** Fields of the graph with other nodes, and without what these do not need. */
function graphParts(
  graph: StoredGraph,
  { replaced, spared, tensors }: LayerNodes,
  versions: Versions | undefined,
): Uint8Array[] {
  const { raw } = graph;
  const gone = unneeded(raw, replaced, spared);
  const initializers = new Set(raw.initializers.map(([name]) => name));
  let at = -1;
  const kept = graph.fields.flatMap((field): Uint8Array[] => {
    const nameIn = (number: number) =>
      textOf(fieldsOf(insideOf(field)), number);
    switch (field.number) {
      case GRAPH.node: {
        const made = replaced.get(++at);
        if (made) {
          return made.map((one) => bytesField(GRAPH.node, [nodeBytes(one)]));
        }
        if (raw.nodes[at].outputs.some((name) => gone.has(name))) return [];
        graph.checkInside(insideOf(field));
        return [
          versions?.isRaised
            ? graph.without(field, leftOut(raw.nodes[at]))
            : field.bytes,
        ];
      }
      case GRAPH.initializer:
        return gone.has(nameIn(TENSOR_NAME)) ? [] : [graph.inlined(field)];
      case GRAPH.input: {
        const name = nameIn(VALUE_NAME);
        const isDropped = gone.has(name) ||
          versions?.dropsInputs && initializers.has(name);
        return isDropped ? [] : [field.bytes];
      }
      case GRAPH.valueInfo:
        return gone.has(nameIn(VALUE_NAME)) ? [] : [field.bytes];
    }
    return [field.bytes];
  });
  return [
    ...kept,
    ...tensors.map(([name, tensor]) =>
      bytesField(GRAPH.initializer, [tensorBytes(name, tensor)])
    ),
  ];
}
