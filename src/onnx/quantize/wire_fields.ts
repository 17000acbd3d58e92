/**
 * Messages as lists of their fields' bytes, so that a file can be changed in places while everything else stays as it
 * is, fields that nobody knows included.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** A field as it is written, its tag in front. */
export interface WireField {
  readonly number: number;
  /** A WireType; named as a number, so that no declaration refers to a package that is bundled. */
  readonly wire: number;
  /** Tag and value, a view of the message. */
  readonly bytes: Uint8Array;
}

/** The fields of a message, in its order. @throws Error when the bytes are none */
export function fieldsOf(message: Uint8Array): WireField[] {
  const reader = new BinaryReader(message);
  const fields: WireField[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, wire] = reader.tag();
    reader.skip(wire, number);
    fields.push({ number, wire, bytes: message.subarray(start, reader.pos) });
  }
  return fields;
}

/** What is in a field of bytes: a message, a text, or packed numbers. */
export function insideOf({ bytes }: WireField): Uint8Array {
  const reader = new BinaryReader(bytes);
  reader.tag();
  return reader.bytes();
}

/** The text of a message's last field of a number; "" where it is not there. */
export function textOf(fields: readonly WireField[], number: number): string {
  const found = fields.findLast((field) => field.number === number);
  return found ? new TextDecoder().decode(insideOf(found)) : "";
}

/** The number in a message's last varint of a field; undefined where it is not there. */
export function integerOf(
  fields: readonly WireField[],
  number: number,
): number | undefined {
  const found = fields.findLast((field) =>
    field.number === number && field.wire === WireType.Varint
  );
  if (found === undefined) return undefined;
  const reader = new BinaryReader(found.bytes);
  reader.tag();
  return Number(reader.int64());
}

/** A varint as a field. */
export function integerField(number: number, value: number): Uint8Array {
  return new BinaryWriter().tag(number, WireType.Varint).int64(value).finish();
}

/** A text as a field. */
export function textField(number: number, value: string): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).string(value)
    .finish();
}

/** Bytes, or a message of such fields, as a field. */
export function bytesField(
  number: number,
  parts: readonly Uint8Array[],
): Uint8Array {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const head = new BinaryWriter().tag(number, WireType.LengthDelimited).uint32(
    size,
  ).finish();
  return joined([head, ...parts]);
}

/** Fields one after the other. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
