/**
 * Changes to a file that leave most of it whole: fields dropped, doubled, moved to other places, numbers at their
 * limits, names of other things, bytes cut off.
 */
import fc from "fast-check";
import type { WireField, WireMessage, WireValue } from "./wire.ts";

/** One change; numbers choose, each modulo what there is to choose from. */
export interface Mutation {
  kind: keyof typeof KINDS;
  /** The field that changes. */
  at: number;
  /** What it changes to, or another field. */
  to: number;
}

const INTEGERS = [
  ...[0n, 1n, -1n, 2n, 3n, 7n, 11n, 64n, 65n, 255n, 2n ** 16n, 2n ** 31n - 1n],
  ...[2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)],
];
const FLOATS = [0, -1, 1e-45, 3e38, Infinity, -Infinity, NaN, 0.5];

/** A field somewhere in a message: numbers of fields from the outermost message on. */
type Path = readonly number[];

function pathsOf(fields: WireMessage, around: Path = []): Path[] {
  return fields.flatMap(([, value], i) => {
    const path = [...around, i];
    return "message" in value
      ? [path, ...pathsOf(value.message, path)]
      : [path];
  });
}

function fieldAt(fields: WireMessage, path: Path): WireField {
  const field = fields[path[0]];
  const [, value] = field;
  return path.length === 1 || !("message" in value)
    ? field
    : fieldAt(value.message, path.slice(1));
}

/** The message with other fields in a field's place. */
function replaced(
  fields: WireMessage,
  path: Path,
  by: readonly WireField[],
): WireMessage {
  const [i, ...inside] = path;
  const [number, value] = fields[i];
  const made: readonly WireField[] =
    inside.length === 0 || !("message" in value)
      ? by
      : [[number, { message: replaced(value.message, inside, by) }]];
  return [...fields.slice(0, i), ...made, ...fields.slice(i + 1)];
}

/** What a field's value may be instead. */
function otherValue(value: WireValue, to: number, other: WireValue): WireValue {
  if ("varint" in value) return { varint: INTEGERS[to % INTEGERS.length] };
  if ("float" in value) return { float: FLOATS[to % FLOATS.length] };
  if ("double" in value) return { double: FLOATS[to % FLOATS.length] };
  if ("text" in value) {
    if ("text" in other) return other;
    return { text: ["", "x", `${value.text}'`, "..", "x".repeat(999)][to % 5] };
  }
  if ("bytes" in value) {
    const { bytes } = value;
    return { bytes: [bytes.slice(1), new Uint8Array(to % 99), bytes][to % 3] };
  }
  return "message" in other ? other : { message: [] };
}

const KINDS = {
  drop: () => [],
  double: (field: WireField) => [field, field],
  change: ([number, value]: WireField, to: number, other: WireField) => [
    [number, otherValue(value, to, other[1])] as const,
  ],
  swap: ([number]: WireField, _: number, other: WireField) => [
    [number, other[1]] as const,
  ],
  insert: (field: WireField, _: number, other: WireField) => [field, other],
  renumber: ([, value]: WireField, to: number) => [
    [1 + to % 25, value] as const,
  ],
  nest: ([number, value]: WireField, to: number) => {
    let nested = value;
    for (let i = 0; i < to % 50; i++) {
      nested = {
        message: [
          [number, nested],
          ...("message" in value ? value.message : []),
        ],
      };
    }
    return [[number, nested] as const];
  },
} satisfies Record<
  string,
  (field: WireField, to: number, other: WireField) => readonly WireField[]
>;

/** A changed message. */
export function mutated(
  fields: WireMessage,
  mutations: readonly Mutation[],
): WireMessage {
  return mutations.reduce((changed, { kind, at, to }) => {
    const paths = pathsOf(changed);
    if (paths.length === 0) return changed;
    const path = paths[at % paths.length];
    const other = fieldAt(changed, paths[to % paths.length]);
    const made = KINDS[kind](fieldAt(changed, path), to, other);
    const result = replaced(changed, path, made);
    // What contains itself doubles; files stay small.
    return pathsOf(result).length > FIELDS_MAX ? changed : result;
  }, fields);
}

const FIELDS_MAX = 5_000;

/** Changes to draw. */
export const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...Object.keys(KINDS) as (keyof typeof KINDS)[]),
    at: fc.nat(),
    to: fc.nat(),
  }),
  { maxLength: 6, size: "max" },
);

/** Bytes with some of them changed, perhaps cut off. */
export function withBytes(
  file: Uint8Array,
  changes: readonly (readonly [at: number, byte: number])[],
  cut: number | undefined,
): Uint8Array {
  const bytes = new Uint8Array(file);
  for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
  return cut === undefined ? bytes : bytes.subarray(0, cut % bytes.length);
}

/** Changes of bytes to draw: mostly none, so that structure gets its share. */
export const byteChanges: fc.Arbitrary<
  readonly [changes: (readonly [number, number])[], cut: number | undefined]
> = fc.oneof(
  { weight: 4, arbitrary: fc.constant([[], undefined] as const) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), {
        maxLength: 4,
      }),
      fc.option(fc.nat(), { nil: undefined, freq: 3 }),
    ),
  },
) as never;
