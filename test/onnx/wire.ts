/** Protobuf messages as trees, so that tests can change a file without breaking what is around the change. */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** A number of a field's kind, a text, bytes, or a message. */
export type WireValue =
  | { readonly varint: bigint }
  | { readonly float: number }
  | { readonly double: number }
  | { readonly text: string }
  | { readonly bytes: Uint8Array }
  | { readonly message: WireMessage };

/** One field. */
export type WireField = readonly [number: number, value: WireValue];

/** Fields in the order in which they are written. */
export type WireMessage = readonly WireField[];

/** An integer field. */
export function integer(number: number, value: number | bigint): WireField {
  return [number, { varint: BigInt(value) }];
}

/** A text field. */
export function text(number: number, value: string): WireField {
  return [number, { text: value }];
}

/** A field of bytes. */
export function bytes(number: number, value: Uint8Array): WireField {
  return [number, { bytes: value }];
}

/** A message in a message. */
export function message(number: number, fields: WireMessage): WireField {
  return [number, { message: fields }];
}

/** A message's bytes. */
export function encode(fields: WireMessage): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  for (const [number, value] of fields) {
    if ("varint" in value) {
      writer.tag(number, WireType.Varint);
      writer.int64(BigInt.asIntN(64, value.varint));
    } else if ("float" in value) {
      writer.tag(number, WireType.Bit32).float(value.float);
    } else if ("double" in value) {
      writer.tag(number, WireType.Bit64).double(value.double);
    } else {
      writer.tag(number, WireType.LengthDelimited);
      if ("text" in value) writer.string(value.text);
      else if ("bytes" in value) writer.bytes(value.bytes);
      else writer.bytes(encode(value.message));
    }
  }
  return new Uint8Array(writer.finish());
}

/**
 * A file's fields. What is delimited is a message where it can be one, since files do not say: other bytes that can be
 * are encoded as they were.
 */
export function decode(file: Uint8Array): WireMessage {
  return decoded(file) ?? [];
}

function decoded(file: Uint8Array): WireMessage | undefined {
  const fields: WireField[] = [];
  const reader = new BinaryReader(file);
  try {
    while (reader.pos < reader.len) {
      const [number, wire] = reader.tag();
      fields.push([number, valueOf(reader, wire)]);
    }
  } catch {
    return undefined;
  }
  return fields;
}

function valueOf(reader: BinaryReader, wire: WireType): WireValue {
  switch (wire) {
    case WireType.Varint:
      return { varint: BigInt(reader.int64()) };
    case WireType.Bit32:
      return { float: reader.float() };
    case WireType.Bit64:
      return { double: reader.double() };
    case WireType.LengthDelimited:
      break;
    default:
      throw new RangeError(`wire type ${wire}`);
  }
  const inside = reader.bytes();
  const isText = inside.every((byte) => byte >= 32 && byte < 127);
  if (isText) return { text: new TextDecoder().decode(inside) };
  const fields = decoded(inside);
  return fields && isSame(encode(fields), inside)
    ? { message: fields }
    : { bytes: inside };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
