/**
 * One protobuf message, split into its fields. Fields are read when they are asked for, by number and kind, over the
 * wire reader of @bufbuild/protobuf, which keeps within the bytes that it is given.
 *
 * A repeated number may be packed or not, whatever the schema says, as protobuf demands. What the schema has once is
 * the last one, but for messages: those would have to be merged, which no writer needs, so that two are refused.
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** Of a whole model. ONNX files of the field have some ten thousand nodes, each of about fifty. */
const FIELDS_MAX = 8_000_000;

/** What a message counts as, in fields: a node of two bytes becomes objects of a kilobyte. */
const MESSAGE_FIELDS = 8;

/** Where a message is, for errors. */
export interface MessagePlace {
  /** What bytes that are no message are told not to be, such as "ONNX file". */
  readonly format: string;
  /** @throws an error that says where it is, and this */
  fail(why: string): never;
}

/** Counts what is read, so that memory is bounded whatever it repeats. */
export class FieldBudget {
  #left: number;

  constructor(readonly most = FIELDS_MAX) {
    this.#left = most;
  }

  /** @throws what the place throws, when there is no end of them */
  spend(fields: number, place: MessagePlace): void {
    if (this.take(fields)) return;
    place.fail(`it has more than ${this.most} fields`);
  }

  /** @returns whether there were so many left */
  take(fields: number): boolean {
    this.#left -= fields;
    return this.#left >= 0;
  }
}

const WIRE_NAMES: Record<number, string> = {
  [WireType.Varint]: "an integer",
  [WireType.Bit64]: "8 bytes",
  [WireType.LengthDelimited]: "bytes",
  [WireType.StartGroup]: "a group",
  [WireType.Bit32]: "4 bytes",
};

/** Where a field's value starts, and how it is written. */
interface Field {
  readonly at: number;
  readonly wire: WireType;
}

/** A message's fields by number. */
export class ProtoMessage<Place extends MessagePlace = MessagePlace> {
  readonly #reader: BinaryReader;
  readonly #fields: Map<number, Field[]>;

  /**
   * @param same the same message, split already
   * @throws what the place throws, when the bytes are no message
   */
  constructor(
    readonly bytes: Uint8Array,
    readonly place: Place,
    readonly budget: FieldBudget,
    same?: ProtoMessage,
  ) {
    if (same !== undefined) {
      this.#reader = same.#reader;
      this.#fields = same.#fields;
      return;
    }
    budget.spend(MESSAGE_FIELDS, place);
    const reader = new BinaryReader(bytes);
    this.#reader = reader;
    this.#fields = new Map();
    let isWithin = true;
    this.#guarded(() => {
      while (isWithin && reader.pos < reader.len) {
        const [number, wire] = reader.tag();
        const field = { at: reader.pos, wire };
        reader.skip(wire, number);
        isWithin = budget.take(1);
        const fields = this.#fields.get(number);
        if (fields === undefined) this.#fields.set(number, [field]);
        else fields.push(field);
      }
    });
    if (!isWithin) budget.spend(0, place);
  }

  /** The same message where errors name what it is. */
  at(place: Place): ProtoMessage<Place> {
    return new ProtoMessage(this.bytes, place, this.budget, this);
  }

  has(number: number): boolean {
    return this.#fields.has(number);
  }

  /** A text; "" when it is not there. */
  text(number: number): string {
    return this.texts(number).at(-1) ?? "";
  }

  texts(number: number): string[] {
    return this.#all(number, WireType.LengthDelimited).map((at) =>
      this.#read(at, (reader) => reader.string(true))
    );
  }

  /** Bytes of all fields of this number, views of the file. */
  chunks(number: number): Uint8Array[] {
    return this.#all(number, WireType.LengthDelimited).map((at) =>
      this.#read(at, (reader) => reader.bytes())
    );
  }

  /** Bytes of the last field of this number, a view of the file; undefined when it is not there. */
  chunk(number: number): Uint8Array | undefined {
    return this.chunks(number).at(-1);
  }

  /** The message that is there at most once. */
  message(
    number: number,
    what: string,
  ): ProtoMessage<Place> | undefined {
    const found = this.chunks(number);
    if (found.length > 1) this.place.fail(`it has ${found.length} ${what}s`);
    return found.length === 0
      ? undefined
      : new ProtoMessage(found[0], this.place, this.budget);
  }

  /** Messages, one after the other: only what is made of them stays. */
  messages<T>(number: number, read: (message: ProtoMessage<Place>) => T): T[] {
    return this.chunks(number).map((bytes) =>
      read(new ProtoMessage(bytes, this.place, this.budget))
    );
  }

  /** A float; 0 when it is not there, as protobuf has it. */
  float(number: number): number {
    return this.floats(number).at(-1) ?? 0;
  }

  /** An int64 as a number, the nearest double; 0 when it is not there. */
  int(number: number): number {
    return Number(this.bigints(number).at(-1) ?? 0n);
  }

  floats(number: number): Float32Array {
    return this.#numbers(
      number,
      WireType.Bit32,
      (count) => new Float32Array(count),
      (reader) => reader.float(),
    );
  }

  doubles(number: number): Float64Array {
    return this.#numbers(
      number,
      WireType.Bit64,
      (count) => new Float64Array(count),
      (reader) => reader.double(),
    );
  }

  int32s(number: number): Int32Array {
    return this.#numbers(
      number,
      WireType.Varint,
      (count) => new Int32Array(count),
      (reader) => reader.int32(),
    );
  }

  bigints(number: number): BigInt64Array {
    return this.#numbers(
      number,
      WireType.Varint,
      (count) => new BigInt64Array(count),
      (reader) => BigInt(reader.int64()),
    );
  }

  uint32s(number: number): Uint32Array {
    return this.#numbers(
      number,
      WireType.Varint,
      (count) => new Uint32Array(count),
      (reader) => reader.uint32(),
    );
  }

  unsignedBigints(number: number): BigUint64Array {
    return this.#numbers(
      number,
      WireType.Varint,
      (count) => new BigUint64Array(count),
      (reader) => BigInt(reader.uint64()),
    );
  }

  /** As 0 and 1. */
  bools(number: number): Uint8Array {
    return this.#numbers(
      number,
      WireType.Varint,
      (count) => new Uint8Array(count),
      (reader) => Number(reader.bool()),
    );
  }

  /** Repeated numbers, packed and not, in their order. */
  #numbers<A extends NumberArray>(
    number: number,
    wire: WireType.Varint | WireType.Bit32 | WireType.Bit64,
    array: (count: number) => A,
    next: (reader: BinaryReader) => A[number],
  ): A {
    const fields = this.#fields.get(number) ?? [];
    const packed = (field: Field) => field.wire === WireType.LengthDelimited;
    let count = 0;
    for (const field of fields) {
      if (field.wire === wire) count++;
      else if (packed(field)) count += this.#packedCount(field, number, wire);
      else this.#misfit(number, field.wire, wire);
    }
    const out = array(count);
    let i = 0;
    for (const field of fields) {
      this.#read(field.at, (reader) => {
        const end = packed(field)
          ? reader.uint32() + reader.pos
          : reader.pos + 1;
        while (reader.pos < end) out[i++] = next(reader);
      });
    }
    return out;
  }

  #packedCount({ at }: Field, number: number, wire: WireType): number {
    const bytes = this.#read(at, (reader) => reader.bytes());
    if (wire === WireType.Varint) {
      // The last byte of each varint is the one without its highest bit.
      let count = 0;
      for (const byte of bytes) if (byte < 0x80) count++;
      if (bytes.length > 0 && bytes[bytes.length - 1] >= 0x80) {
        this.place.fail(`field ${number} ends inside a number`);
      }
      return count;
    }
    const size = wire === WireType.Bit32 ? 4 : 8;
    if (bytes.length % size !== 0) {
      this.place.fail(
        `field ${number} has ${bytes.length} bytes of numbers of ${size}`,
      );
    }
    return bytes.length / size;
  }

  #all(number: number, wire: WireType): number[] {
    return (this.#fields.get(number) ?? []).map((field) => {
      if (field.wire !== wire) this.#misfit(number, field.wire, wire);
      return field.at;
    });
  }

  #misfit(number: number, got: WireType, expected: WireType): never {
    this.place.fail(
      `field ${number} is ${WIRE_NAMES[got]}, expected ${WIRE_NAMES[expected]}`,
    );
  }

  #read<T>(at: number, read: (reader: BinaryReader) => T): T {
    this.#reader.pos = at;
    return this.#guarded(() => read(this.#reader));
  }

  /** Of the wire reader's own alone, whose errors are the message's. */
  #guarded<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      const { message } = error as Error;
      this.place.fail(`it is cut off or no ${this.place.format} (${message})`);
    }
  }
}

type NumberArray =
  | Float32Array
  | Float64Array
  | Int32Array
  | Uint32Array
  | Uint8Array
  | BigInt64Array
  | BigUint64Array;
