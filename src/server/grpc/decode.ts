/** Messages from bytes. */
import {
  FieldBudget,
  type MessagePlace,
  ProtoMessage,
} from "../../base/proto_message.ts";
import { HttpError } from "../http/http_error.ts";
import type { Decoded, Field, MessageType, Scalar } from "./descriptor.ts";

/** Fields of a message and of those in it: a string of two bytes becomes an object of a hundred. */
const FIELDS_MAX = 2 ** 20;

const PLACE: MessagePlace = {
  format: "message of this call",
  fail(why): never {
    throw new HttpError(400, `The request cannot be read: ${why}`);
  },
};

/** The wire's own numbers of a map's entry. */
const KEY = 1;
const VALUE = 2;

/** @throws HttpError 400 */
export function decode<T extends MessageType>(
  type: T,
  bytes: Uint8Array,
): Decoded<T> {
  const budget = new FieldBudget(FIELDS_MAX);
  return decoded(type, new ProtoMessage(bytes, PLACE, budget)) as Decoded<T>;
}

function decoded(
  { fields }: MessageType,
  message: ProtoMessage,
): Readonly<Record<string, unknown>> {
  const read = Object.entries(fields).map(([name, field]) =>
    [name, valueOf(name, field, message)] as const
  );
  return Object.fromEntries(read);
}

function valueOf(name: string, field: Field, message: ProtoMessage): unknown {
  const { number, kind, form } = field;
  if (form === "map") return mapOf(field, message);
  if (typeof kind === "string") {
    const found = SCALARS[kind](message, number);
    if (form === "list") return found;
    // Of several the last one counts, as Protocol Buffers have it.
    const last = found.at(-1);
    return kind === "bool" && last !== undefined ? last === 1 : last;
  }
  if ("values" in kind) throw new TypeError(`Requests have no "${name}"`);
  if (form === "list") {
    return message.messages(number, (inner) => decoded(kind, inner));
  }
  const inner = message.message(number, `"${name}"`);
  return inner && decoded(kind, inner);
}

function mapOf(
  { number, kind }: Field,
  message: ProtoMessage,
): ReadonlyMap<string, unknown> {
  const value: Field = { number: VALUE, kind, form: "one" };
  return new Map(message.messages(number, (entry) => {
    const read = valueOf("value", value, entry);
    return [entry.text(KEY), read] as const;
  }));
}

const SCALARS: Readonly<
  Record<
    Scalar,
    (message: ProtoMessage, number: number) =>
      & ArrayLike<
        unknown
      >
      & { at(i: number): unknown }
  >
> = {
  bool: (message, number) => message.bools(number),
  int32: (message, number) => message.int32s(number),
  uint32: (message, number) => message.uint32s(number),
  int64: (message, number) => message.bigints(number),
  uint64: (message, number) => message.unsignedBigints(number),
  float: (message, number) => message.floats(number),
  double: (message, number) => message.doubles(number),
  string: (message, number) => message.texts(number),
  bytes: (message, number) => message.chunks(number),
};
