/**
 * Slots of sessions: what lies in them, and how frames come and go. A session's slot is planned like any request's
 * (`FrameGraph`); what its nodes read of the model's constants is written once, what frames bring every time.
 */
import { shorten } from "../../base/describe.ts";
import type { Result } from "../../graph/result.ts";
import { elements, type Tensor, type TensorData } from "../../tensor/tensor.ts";
import { lengthOf, setAll } from "../../tensor/typed_array.ts";
import type { ActiveSession } from "../core/active_request.ts";
import type { SessionMemory } from "../core/executor.ts";
import type { LinearMemory } from "./linear_memory.ts";
import type { Slot, SlotRequest } from "./slot.ts";
import { openHeader } from "./slot_header.ts";
import type { SlotPool } from "./slot_pool.ts";

type SlotSession = ActiveSession<Slot>;

/** A session's piece of memory. */
interface SessionSlot extends Slot {
  /** Where what frames bring is written: addresses. */
  readonly inputs: readonly number[];
  /** Of results that are copied into a caller's arrays, by output: where they lie. */
  readonly views: Float32Array[];
}

/** Elements for which a loop is faster than a view and what copies it. */
const COPIED_ONE_BY_ONE = 32;

export class SessionSlots implements SessionMemory {
  readonly #pool: SlotPool;
  readonly #memory: LinearMemory;

  constructor(pool: SlotPool, memory: LinearMemory) {
    this.#pool = pool;
    this.#memory = memory;
  }

  open(session: SlotSession): void {
    const { plan, constants, brought } = session.frame;
    const piece = this.#pool.allocate(plan.bytes);
    const inputs = brought.map(({ offset }) => piece.address + offset);
    const slot: SessionSlot = { ...piece, plan, inputs, views: [] };
    session.slot = slot;
    for (const { data, offset } of constants) {
      this.#memory.write(data, slot.address + offset);
    }
  }

  load(session: SlotSession, state: Uint8Array | undefined): void {
    const slot = session.slot!;
    const saved = state ?? session.frame.initialState();
    let at = 0;
    for (const { data, initial: { byteLength } } of session.frame.states) {
      const address = slot.address + data.offset;
      this.#memory.bytes.set(saved.subarray(at, at + byteLength), address);
      at += byteLength;
    }
  }

  save(session: SlotSession): Uint8Array {
    const slot = session.slot!;
    const saved = new Uint8Array(session.frame.stateBytes);
    let at = 0;
    for (const { data, initial: { byteLength } } of session.frame.states) {
      const address = slot.address + data.offset;
      const { bytes } = this.#memory;
      saved.set(bytes.subarray(address, address + byteLength), at);
      at += byteLength;
    }
    return saved;
  }

  close(session: SlotSession): void {
    this.#pool.release(session.slot!);
    session.slot = undefined;
  }

  /** A frame begins: its rows are written, and its slot's header is as for a fresh request. */
  begin(request: SlotRequest): void {
    const slot = request.session!.slot as SessionSlot;
    request.slot = slot;
    openHeader(this.#memory.words, slot.address, 0);
    const { values } = request.rows!;
    for (let i = 0; i < values.length; i++) {
      this.#memory.write(values[i], slot.inputs[i]);
    }
  }

  /**
   * The results of a frame that is done: in arrays of its caller's, or in fresh ones.
   * @throws TypeError when one of the caller's was transferred or shrank meanwhile
   */
  result({ session, slot, rows }: SlotRequest): Result {
    const { outputs } = session!.frame;
    const into = rows!.into;
    const result: Record<string, Tensor<TensorData>> = {};
    for (let i = 0; i < outputs.length; i++) {
      const { name, dtype, width, shape, node, port } = outputs[i];
      const at = slot.address + node.offsets[port];
      const given = into?.[i];
      if (given !== undefined && lengthOf(given) !== width) {
        throw new TypeError(
          `"into" of a frame: "${
            shorten(name)
          }" is ${dtype}[${width}], and no longer when it was done: its buffer was transferred or resized`,
        );
      }
      if (dtype === "f32") {
        const data = given === undefined
          ? this.#memory.floats.slice(at >>> 2, (at >>> 2) + width)
          : this.#copy(
            slot as SessionSlot,
            i,
            at,
            given as Float32Array,
            width,
          );
        result[name] = { shape, data };
        continue;
      }
      const data = given ?? elements(dtype, width);
      this.#memory.read(data, at, width);
      result[name] = { shape, data };
    }
    return result as Result;
  }

  /** Copies the floats of output `i`, which lie at an address, into a caller's array. */
  #copy(
    { views }: SessionSlot,
    i: number,
    at: number,
    into: Float32Array,
    width: number,
  ): Float32Array {
    const { floats } = this.#memory;
    if (width <= COPIED_ONE_BY_ONE) {
      for (let k = 0; k < width; k++) into[k] = floats[(at >>> 2) + k];
      return into;
    }
    // A state that is a result changes places from frame to frame.
    if (views[i]?.byteOffset !== at) {
      views[i] = floats.subarray(at >>> 2, (at >>> 2) + width);
    }
    setAll(into, views[i]);
    return into;
  }
}
