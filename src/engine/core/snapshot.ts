/**
 * A session's state in bytes, to go on with elsewhere:
 *
 *     | "shoalst" 1 | bytes of the header, u32 | header, JSON | states, as declared | FNV-1a of all before, u32 |
 *
 * Numbers are little-endian, states their elements without padding. The header has the model's name, a hash of
 * the names, types and sizes of its states, and the number of frames done. Weights are not looked at: a
 * snapshot of a model goes on with another's of the same form.
 */
import { describe, shorten } from "../../base/describe.ts";
import { fnv1a } from "../../base/hash.ts";
import type { StreamModel } from "../../graph/stream_model.ts";
import type { ActiveSession } from "./active_request.ts";

/** What every snapshot begins with; the last byte is the version. */
const MAGIC = [0x73, 0x68, 0x6f, 0x61, 0x6c, 0x73, 0x74, 1];

const LENGTH_BYTES = 4;
const HEADER_AT = MAGIC.length + LENGTH_BYTES;
const SUM_BYTES = 4;

interface Header {
  readonly model: string;
  readonly layout: string;
  readonly frames: number;
}

/** @param state of the session, see SessionMemory.save */
export function snapshotOf(
  { model, framesDone }: ActiveSession,
  state: Uint8Array,
): Uint8Array {
  const header: Header = {
    model: model.name,
    layout: layoutOf(model),
    frames: framesDone,
  };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(
    HEADER_AT + text.length + state.length + SUM_BYTES,
  );
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint32(MAGIC.length, text.length, true);
  bytes.set(text, HEADER_AT);
  bytes.set(state, HEADER_AT + text.length);
  const end = bytes.length - SUM_BYTES;
  view.setUint32(end, fnv1a(bytes.subarray(0, end)), true);
  return bytes;
}

/**
 * What a snapshot holds.
 * @param stateBytes of a state of the model
 * @throws TypeError when it is none or damaged, RangeError when it is of another model or layout
 */
export function readSnapshot(
  model: StreamModel,
  stateBytes: number,
  snapshot: unknown,
): { readonly saved: Uint8Array; readonly framesDone: number } {
  if (!(snapshot instanceof Uint8Array)) {
    throw new TypeError(
      `"snapshot" is what snapshot() of a stream returned, got ${
        describe(snapshot)
      }`,
    );
  }
  // A Buffer's slice() would be no copy.
  const bytes = new Uint8Array(snapshot);
  const view = new DataView(bytes.buffer);
  const end = bytes.length - SUM_BYTES;
  const isWhole = end > HEADER_AT &&
    MAGIC.every((byte, i) => bytes[i] === byte) &&
    view.getUint32(end, true) === fnv1a(bytes.subarray(0, end));
  const stateAt = isWhole
    ? HEADER_AT + view.getUint32(MAGIC.length, true)
    : Infinity;
  const header = stateAt > end
    ? undefined
    : headerIn(bytes.subarray(HEADER_AT, stateAt));
  if (header === undefined) {
    throw new TypeError(
      `"snapshot" is damaged, or none of this version: ${bytes.length} bytes`,
    );
  }
  const { name } = model;
  if (
    header.model !== name || header.layout !== layoutOf(model) ||
    end - stateAt !== stateBytes
  ) {
    throw new RangeError(
      `"snapshot" is of model "${shorten(header.model)}" with states ${
        shorten(header.layout)
      }, the stream is of "${shorten(name)}" with ${layoutOf(model)}`,
    );
  }
  return { saved: bytes.slice(stateAt, end), framesDone: header.frames };
}

/** Undefined when it is none. */
function headerIn(bytes: Uint8Array): Header | undefined {
  try {
    const header: Header = JSON.parse(new TextDecoder().decode(bytes));
    const { model, layout, frames } = header;
    const isHeader = typeof model === "string" && typeof layout === "string" &&
      Number.isSafeInteger(frames) && frames >= 0;
    return isHeader ? header : undefined;
  } catch {
    return undefined;
  }
}

/** A hash of what lies where in a state. */
function layoutOf({ stream: { states } }: StreamModel): string {
  const rows = Object.entries(states).map(([name, { dtype, width, from }]) => [
    name,
    dtype,
    width,
    from,
  ]);
  return fnv1a(JSON.stringify(rows)).toString(16).padStart(8, "0");
}
