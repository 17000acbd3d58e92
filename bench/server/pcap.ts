/**
 * TCP segments of a packet capture, as far as a benchmark looks at them: classic pcap files of Ethernet frames (the
 * loopback device has them, too) with IPv4 in them.
 *
 * Source: draft-ietf-opsawg-pcap (file and packet headers), RFC 791 and RFC 9293 (section 3.1).
 */

/** A segment that carries something, or begins a connection. */
export interface Segment {
  /** When the kernel saw it, in milliseconds since 1970. */
  readonly atMs: number;
  readonly fromPort: number;
  readonly toPort: number;
  /** The first one that its sender sends on a connection; it carries nothing. */
  readonly isFirst: boolean;
  /** Of its first byte. */
  readonly sequence: number;
  /** Bytes that it carried; of these those that were captured are in `payload`. */
  readonly length: number;
  readonly payload: Uint8Array;
}

/** Magic numbers of files whose times are in microseconds and in nanoseconds. */
const UNITS_PER_MS = new Map([[0xa1b2c3d4, 1e3], [0xa1b23c4d, 1e6]]);
const FILE_HEADER = 24;
const PACKET_HEADER = 16;
const LINK_ETHERNET = 1;
const ETHERNET_HEADER = 14;
const ETHERTYPE_IPV4 = 0x0800;
const PROTOCOL_TCP = 6;
const SYN = 0x02;

/**
 * All of them, in the order of the file.
 * @throws RangeError when it is no such file
 */
export function* segmentsOf(file: Uint8Array): Generator<Segment> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.length < FILE_HEADER) throw new RangeError("It is no pcap file");
  const isLittle = UNITS_PER_MS.has(view.getUint32(0, true));
  const unitsPerMs = UNITS_PER_MS.get(view.getUint32(0, isLittle));
  if (unitsPerMs === undefined) throw new RangeError("It is no pcap file");
  const link = view.getUint32(20, isLittle) & 0xffff;
  if (link !== LINK_ETHERNET) {
    throw new RangeError(`Frames of link type ${link} are not read`);
  }
  let at = FILE_HEADER;
  // A packet that is cut off is one whose writer was ended.
  while (at + PACKET_HEADER <= file.length) {
    const captured = view.getUint32(at + 8, isLittle);
    const frame = at + PACKET_HEADER;
    if (frame + captured > file.length) return;
    const seconds = view.getUint32(at, isLittle);
    const fraction = view.getUint32(at + 4, isLittle);
    const segment = segmentOf(file.subarray(frame, frame + captured));
    if (segment) {
      yield { ...segment, atMs: 1000 * seconds + fraction / unitsPerMs };
    }
    at = frame + captured;
  }
}

/** Undefined of a frame that has none. */
function segmentOf(frame: Uint8Array): Omit<Segment, "atMs"> | undefined {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const ip = ETHERNET_HEADER;
  if (frame.length < ip + 20 || view.getUint16(12) !== ETHERTYPE_IPV4) {
    return undefined;
  }
  if (view.getUint8(ip + 9) !== PROTOCOL_TCP) return undefined;
  const tcp = ip + 4 * (view.getUint8(ip) & 0xf);
  if (frame.length < tcp + 20) return undefined;
  const data = tcp + 4 * (view.getUint8(tcp + 12) >> 4);
  const length = ip + view.getUint16(ip + 2) - data;
  const isFirst = (view.getUint8(tcp + 13) & SYN) !== 0;
  if (length <= 0 && !isFirst) return undefined;
  return {
    isFirst,
    fromPort: view.getUint16(tcp),
    toPort: view.getUint16(tcp + 2),
    sequence: view.getUint32(tcp + 4),
    length,
    payload: frame.subarray(data, Math.min(frame.length, data + length)),
  };
}
