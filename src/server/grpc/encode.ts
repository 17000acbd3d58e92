/** Messages as bytes. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { isList } from "../../base/describe.ts";
import type { Field, MessageType, Scalar } from "./descriptor.ts";

type Values = Readonly<Record<string, unknown>>;

/** What the wire has no room for is left out: fields that the type has not. */
export function encode(type: MessageType, value: object): Uint8Array {
  const writer = new BinaryWriter();
  writeMessage(writer, type, value as Values);
  return writer.finish();
}

function writeMessage(
  writer: BinaryWriter,
  { fields }: MessageType,
  values: Values,
): void {
  for (const [name, field] of Object.entries(fields)) {
    const value = values[name];
    if (value !== undefined && value !== null) write(writer, field, value);
  }
}

function write(writer: BinaryWriter, field: Field, value: unknown): void {
  const { number, kind, form } = field;
  if (form === "map") {
    for (const [key, inner] of Object.entries(value as Values)) {
      writer.tag(number, WireType.LengthDelimited).fork();
      writeOne(writer, { number: 1, kind: "string", form: "one" }, key);
      writeOne(writer, { number: 2, kind, form: "choice" }, inner);
      writer.join();
    }
  } else if (form === "one" || form === "choice") {
    writeOne(writer, field, value);
  } else if (
    typeof kind === "string" && kind !== "string" && kind !== "bytes"
  ) {
    writePacked(writer, number, kind, value as ArrayLike<number | bigint>);
  } else {
    for (const inner of value as readonly unknown[]) {
      writeOne(writer, { ...field, form: "choice" }, inner);
    }
  }
}

function writeOne(
  writer: BinaryWriter,
  { number, kind, form }: Field,
  value: unknown,
): void {
  if (typeof kind !== "string") {
    if ("values" in kind) {
      const known = kind.values[`${value}`] ?? 0;
      if (known !== 0) writer.tag(number, WireType.Varint).int32(known);
      return;
    }
    writer.tag(number, WireType.LengthDelimited).fork();
    writeMessage(writer, kind, value as Values);
    writer.join();
    return;
  }
  if (form === "one" && isDefault(kind, value)) return;
  writer.tag(number, WIRES[kind]);
  // The table has the writer's methods by the types' names.
  (writer[kind] as (value: unknown) => unknown).call(writer, value);
}

function isDefault(kind: Scalar, value: unknown): boolean {
  return kind === "string" || kind === "bytes"
    ? (value as ArrayLike<unknown>).length === 0
    : Number(value) === 0;
}

/** Numbers lie one behind the other, those of fixed sizes as they are in memory. */
function writePacked(
  writer: BinaryWriter,
  number: number,
  kind: Exclude<Scalar, "string" | "bytes">,
  values: ArrayLike<number | bigint>,
): void {
  if (values.length === 0) return;
  writer.tag(number, WireType.LengthDelimited);
  if (ArrayBuffer.isView(values) && (kind === "float" || kind === "double")) {
    const { buffer, byteOffset, byteLength } = values;
    writer.bytes(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
    return;
  }
  writer.fork();
  const list = isList(values) ? values : Array.from(values);
  for (const value of list) {
    const given = kind === "bool" ? Boolean(value) : value;
    (writer[kind] as (value: unknown) => unknown).call(writer, given);
  }
  writer.join();
}

const WIRES: Readonly<Record<Scalar, WireType>> = {
  bool: WireType.Varint,
  int32: WireType.Varint,
  uint32: WireType.Varint,
  int64: WireType.Varint,
  uint64: WireType.Varint,
  float: WireType.Bit32,
  double: WireType.Bit64,
  string: WireType.LengthDelimited,
  bytes: WireType.LengthDelimited,
};
