/** `AttributeProto` of onnx.proto. */
import type { OnnxAttributeKind } from "../ir.ts";
import { quoted } from "../place.ts";
import type { ReadContext } from "./context.ts";
import type { Message } from "./message.ts";
import type { RawAttribute, RawGraph } from "./raw_graph.ts";
import { readTensor } from "./read_tensor.ts";

const NAME = 1;
const TYPE = 20;
const REF_ATTR_NAME = 21;

/** Kinds by `AttributeType`, and the field with the value. */
const KINDS: Record<number, { kind: OnnxAttributeKind; field: number }> = {
  1: { kind: "float", field: 2 },
  2: { kind: "int", field: 3 },
  3: { kind: "string", field: 4 },
  4: { kind: "tensor", field: 5 },
  5: { kind: "graph", field: 6 },
  6: { kind: "floats", field: 7 },
  7: { kind: "ints", field: 8 },
  8: { kind: "strings", field: 9 },
  9: { kind: "tensors", field: 10 },
  10: { kind: "graphs", field: 11 },
};

/** Kinds that are not read, by their field. */
const OTHER_KINDS: Record<number, string> = {
  14: "a type",
  15: "a list of types",
  22: "a sparse tensor",
  23: "a list of sparse tensors",
};

/** Reads a graph that is an attribute. */
export type GraphReader = (message: Message) => RawGraph;

/**
 * Reads an attribute.
 * @param message whose place is the node's
 * @throws OnnxError when it is of a kind that is not read, or has none or several
 */
export function readAttribute(
  message: Message,
  context: ReadContext,
  readGraph: GraphReader,
): [name: string, attribute: RawAttribute] {
  const name = message.text(NAME);
  const place = message.place.in(`attribute ${quoted(name)}`);
  for (const [field, what] of Object.entries(OTHER_KINDS)) {
    if (message.has(Number(field))) {
      place.fail(`it is ${what}, which is not read`);
    }
  }
  const present = Object.values(KINDS).filter(({ field }) =>
    message.has(field)
  );
  const type = message.int(TYPE);
  const declared = KINDS[type];
  if (declared === undefined && type !== 0) {
    place.fail(`it is of kind ${type}, which is not read`);
  }
  const reference = message.text(REF_ATTR_NAME);
  if (reference !== "") {
    return [name, {
      kind: "reference",
      value: reference,
      declared: declared?.kind,
    }];
  }
  const other = present.find(({ kind }) => kind !== declared?.kind);
  if (declared !== undefined && other !== undefined) {
    place.fail(`it is declared as ${declared.kind}, but has ${other.kind}`);
  }
  // Files before 2017-10-30 have no kinds.
  const found = declared ?? present[0];
  if (found === undefined || present.length > 1) {
    return place.fail(
      `it has ${present.length === 0 ? "no value" : "several values"}`,
    );
  }
  const { kind, field } = found;
  const at = message.at(place);
  const tensors = () =>
    at.messages(
      field,
      (tensor) => readTensor(tensor, `attribute ${name}`, context),
    );
  const graphs = () => at.messages(field, readGraph);
  const one = <T>(values: readonly T[]): T =>
    values.length === 1
      ? values[0]
      : place.fail(`it has ${values.length} values, expected 1`);
  switch (kind) {
    case "float":
      return [name, { kind, value: at.float(field) }];
    case "int":
      return [name, { kind, value: at.int(field) }];
    case "string":
      return [name, { kind, value: at.text(field) }];
    case "tensor":
      return [name, { kind, value: one(tensors()) }];
    case "graph":
      return [name, { kind, value: one(graphs()) }];
    case "floats":
      return [name, { kind, value: Array.from(at.floats(field)) }];
    case "ints":
      return [name, { kind, value: Array.from(at.bigints(field), Number) }];
    case "strings":
      return [name, { kind, value: at.texts(field) }];
    case "tensors":
      return [name, { kind, value: tensors() }];
    case "graphs":
      return [name, { kind, value: graphs() }];
  }
}
