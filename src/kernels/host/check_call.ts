/**
 * Checks a kernel call against its spec before it is made: sizes, alignment, aliasing, and that
 * every operand lies inside memory and above the module's own data. Messages name kernel,
 * argument and value, and the way out.
 */
import { PAGE_BYTES, PAGES_MAX } from "../module/memory.ts";
import { SHAPE_FIELDS } from "../pack/image_words.ts";
import { CallSizes } from "../spec/call_sizes.ts";
import { KERNEL_SPECS } from "../spec/registry.ts";
import {
  type ArrayParameter,
  countOf,
  type KernelName,
  type Questions,
  rowBytes,
  rowCount,
  type RowsParameter,
  rowWidth,
  type ShapeParameter,
  type Sizes,
  type TablesParameter,
} from "../spec/signature.ts";
import { checkNumbers, refuse } from "./check_numbers.ts";
import { checkOverlaps, type Span } from "./overlap.ts";

const SHAPE_BYTES = 4 * SHAPE_FIELDS.length;

/** One call, and the memory as it is now: it may have grown since the last one. */
interface Call {
  kernel: KernelName;
  kernels: Questions;
  /** First byte that belongs to the host. */
  staticEnd: number;
  words: Uint32Array;
  sizes: Sizes;
  /** Addresses of the arrays met so far. */
  arrays: Record<string, number>;
  spans: Span[];
}

/**
 * @throws {RangeError} if the kernel must not be called with these arguments
 */
export function checkCall(
  kernel: KernelName,
  args: readonly number[],
  { kernels, memory }: { kernels: Questions; memory: WebAssembly.Memory },
): void {
  checkNumbers(kernel, args);
  const { parameters, relation } = KERNEL_SPECS[kernel];
  const words = new Uint32Array(memory.buffer);
  const call: Call = {
    kernel,
    kernels,
    staticEnd: kernels.shoal_static_end() >>> 0,
    words,
    sizes: new CallSizes(kernel).of(Float64Array.from(args), words),
    arrays: {},
    spans: [],
  };
  parameters.forEach((parameter, i) => {
    if (parameter.kind === "shape") checkShape(call, parameter, args[i]);
  });
  const complaint = relation?.(call.sizes);
  if (complaint !== undefined) refuse(call.kernel, complaint);
  // Indices may say how long rows are, and how large other arrays.
  parameters.forEach((parameter, i) => {
    if (parameter.kind === "array" && parameter.below) {
      checkArray(call, parameter, args[i]);
    }
  });
  parameters.forEach((parameter, i) => {
    if (parameter.kind === "rows") checkRows(call, parameter, args[i]);
    else if (parameter.kind === "tables") checkTables(call, parameter, args[i]);
    else if (parameter.kind === "array" && !parameter.below) {
      checkArray(call, parameter, args[i]);
    }
  });
  checkOverlaps(kernel, call.spans);
}

function checkShape(
  call: Call,
  { name, grouped }: ShapeParameter,
  address: number,
): void {
  const { sizes } = call;
  checkSpan(call, name, address, SHAPE_BYTES, 4);
  for (const field of SHAPE_FIELDS) {
    // Pads below 0 leave lines out, as threads do that share an image.
    if (sizes[field] < 1 && !field.startsWith("pad")) {
      refuse(
        call.kernel,
        `${name}: ${field} must be at least 1, is ${
          sizes[field]
        }; write the words of shapeWords()`,
      );
    }
  }
  const { groups, channels, outChannels } = sizes;
  if (grouped && (channels % groups !== 0 || outChannels % groups !== 0)) {
    refuse(
      call.kernel,
      `${name}: ${groups} groups do not divide ${channels} channels into ${outChannels}`,
    );
  }
  call.spans.push({
    operand: name,
    from: address,
    to: address + SHAPE_BYTES,
    access: "in",
  });
}

/** Refuses what is not an address of `bytes` bytes of the host's. */
function checkSpan(
  call: Call,
  what: string,
  address: number,
  bytes: number,
  alignment: number,
): void {
  const { staticEnd, words: { byteLength } } = call;
  if (!Number.isInteger(address) || address < 0 || address >= 2 ** 32) {
    const signed = address < 0 ? "; write address >>> 0" : "";
    refuse(call.kernel, `${what} is ${address}, which is no address${signed}`);
  }
  if (address % alignment !== 0) {
    refuse(
      call.kernel,
      `${what} lies at ${address}, which is not ${alignment}-byte aligned; place it at a multiple of ${alignment}`,
    );
  }
  if (address < staticEnd) {
    refuse(
      call.kernel,
      `${what} lies at ${address}, in the module's own data; place operands from shoal_static_end() = ${staticEnd} on`,
    );
  }
  if (address + bytes > byteLength) {
    refuse(
      call.kernel,
      `${what} (${bytes} bytes at ${address}) ends outside memory of ${byteLength} bytes; grow it or place the operand lower`,
    );
  }
  if (address + bytes > PAGES_MAX * PAGE_BYTES) {
    refuse(
      call.kernel,
      `${what} (${bytes} bytes at ${address}) ends in the last page of 4 GiB, which kernels leave alone; place the operand lower`,
    );
  }
}

function checkRows(
  call: Call,
  parameter: RowsParameter,
  table: number,
): void {
  const { sizes, kernels } = call;
  if (parameter.when?.(sizes) === false) return;
  if (parameter.optional && table === 0) return;
  const { type, each } = parameter;
  checkTable(call, parameter, table, {
    count: rowCount(parameter, sizes, kernels),
    // Bytes are copied from anywhere to anywhere.
    alignment: type === "byte" ? 1 : 4,
    bytes(row) {
      const own = each === undefined
        ? undefined
        : call.words[call.arrays[each] / 4 + row] | 0;
      return rowBytes(type, rowWidth(parameter, sizes, kernels, own));
    },
  });
}

function checkTable(
  call: Call,
  { name, access, over, repeats }: Pick<
    RowsParameter,
    "name" | "access" | "over" | "repeats"
  >,
  table: number,
  { bytes, count, alignment = 4 }: {
    bytes: (row: number) => number;
    count: number;
    alignment?: number;
  },
): void {
  checkSpan(call, `${name}, a table of ${count} rows,`, table, 4 * count, 4);
  call.spans.push({
    operand: `${name}'s table`,
    from: table,
    to: table + 4 * count,
    access: "in",
  });
  for (let row = 0; row < count; ++row) {
    const from = call.words[table / 4 + row];
    const size = bytes(row);
    checkSpan(call, `${name}: row ${row}`, from, size, alignment);
    call.spans.push({
      operand: name,
      row,
      from,
      to: from + size,
      access,
      ...(over && { over }),
      ...(repeats && { repeats }),
    });
  }
}

function checkArray(
  call: Call,
  parameter: ArrayParameter,
  address: number,
): void {
  const { sizes, kernels, words } = call;
  const { name, type, access, length, alignment, below } = parameter;
  if (parameter.optional && address === 0) return;
  const elements = countOf(length, sizes, kernels);
  const bytes = rowBytes(type, elements);
  checkSpan(call, name, address, bytes, alignment);
  call.spans.push({
    operand: name,
    from: address,
    to: address + bytes,
    access: access === "in" ? "in" : "out",
  });
  call.arrays[name] = address;
  if (below === undefined) return;
  const { offsets, stride, inclusive = false } = below;
  const most = below.limit(sizes) - (inclusive ? 0 : 1);
  for (let i = 0; i < elements; i += stride) {
    for (const offset of offsets) {
      const value = words[address / 4 + i + offset] | 0;
      if (value < 0 || value > most) {
        refuse(
          call.kernel,
          `${name}: element ${
            i + offset
          } is ${value}, must be between 0 and ${most}`,
        );
      }
    }
  }
}

function checkTables(
  call: Call,
  { name, count, width }: TablesParameter,
  address: number,
): void {
  const { sizes, words } = call;
  const tableCount = sizes[count];
  checkSpan(
    call,
    `${name}, a list of ${tableCount} tables,`,
    address,
    4 * tableCount,
    4,
  );
  call.spans.push({
    operand: `${name}'s list`,
    from: address,
    to: address + 4 * tableCount,
    access: "in",
  });
  for (let i = 0; i < tableCount; ++i) {
    checkTable(
      call,
      { name: `${name}[${i}]`, access: "in" },
      words[address / 4 + i],
      { count: sizes.m, bytes: () => 4 * sizes[width] },
    );
  }
}
