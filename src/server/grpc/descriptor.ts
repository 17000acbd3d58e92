/**
 * Messages of Protocol Buffers as tables: a field's name, number and type. Values are plain objects by the fields' names,
 * as the protocols' JSON has them, so that what is told over HTTP is told over gRPC as well.
 */

/** What one field of each type is read as. */
interface ScalarValues {
  bool: boolean;
  int32: number;
  uint32: number;
  int64: bigint;
  uint64: bigint;
  float: number;
  double: number;
  string: string;
  bytes: Uint8Array;
}

/** What repeated ones are read as. */
interface ScalarLists {
  bool: Uint8Array;
  int32: Int32Array;
  uint32: Uint32Array;
  int64: BigInt64Array;
  uint64: BigUint64Array;
  float: Float32Array;
  double: Float64Array;
  string: readonly string[];
  bytes: readonly Uint8Array[];
}

/** Types that are no messages. */
export type Scalar = keyof ScalarValues;

/** Names of numbers; only written here. */
export interface Enumeration {
  readonly values: Readonly<Record<string, number>>;
}

/** A message's fields by name. */
export interface MessageType {
  readonly fields: Readonly<Record<string, Field>>;
}

type Kind = Scalar | Enumeration | MessageType;

type Form = "one" | "choice" | "list" | "map";

/** A field; of a map, the type of its values: keys are strings. */
export interface Field<K extends Kind = Kind, F extends Form = Form> {
  readonly number: number;
  readonly kind: K;
  readonly form: F;
}

type ValueOf<K> = K extends Scalar ? ScalarValues[K]
  : K extends MessageType ? Decoded<K>
  : never;

type FieldValue<F> = F extends Field<infer K, infer Form>
  ? Form extends "list" ? K extends Scalar ? ScalarLists[K] : readonly ValueOf<
      K
    >[]
  : Form extends "map" ? ReadonlyMap<string, ValueOf<K>>
  : ValueOf<K> | undefined
  : never;

/** A message as it is read: what is not there is undefined, and lists and maps are empty. */
export type Decoded<T extends MessageType> = {
  readonly [Name in keyof T["fields"]]: FieldValue<T["fields"][Name]>;
};

export function messageType<const Fields extends MessageType["fields"]>(
  fields: Fields,
): { readonly fields: Fields } {
  return { fields };
}

/** A field that is left out where it has its type's default. */
export function one<const K extends Kind>(
  number: number,
  kind: K,
): Field<K, "one"> {
  return { number, kind, form: "one" };
}

/** One of several fields that exclude each other (`oneof`), so that a default says something, too. */
export function choice<const K extends Kind>(
  number: number,
  kind: K,
): Field<K, "choice"> {
  return { number, kind, form: "choice" };
}

export function list<const K extends Kind>(
  number: number,
  kind: K,
): Field<K, "list"> {
  return { number, kind, form: "list" };
}

export function map<const K extends Kind>(
  number: number,
  kind: K,
): Field<K, "map"> {
  return { number, kind, form: "map" };
}
