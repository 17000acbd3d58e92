/**
 * Checks a kernel call against its signature before it is made: sizes, alignment, aliasing,
 * and that every operand lies inside memory and above the module's own data. Messages name
 * kernel, argument and value, and the way out.
 */
import { SHAPE_FIELDS } from "../pack/image_words.ts";
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
  type TablesParameter,
} from "../spec/signature.ts";
import { checkNumbers } from "./check_numbers.ts";
import { type MemoryView, viewMemory } from "./memory_view.ts";
import { checkOverlaps, type Span } from "./overlap.ts";

const SHAPE_BYTES = 4 * SHAPE_FIELDS.length;

/** Where the arguments of one call lie. */
interface Call {
  kernel: KernelName;
  kernels: Questions;
  memory: MemoryView;
  sizes: Record<string, number>;
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
  const { parameters, relation } = KERNEL_SPECS[kernel];
  const call: Call = {
    kernel,
    kernels,
    memory: viewMemory(memory, kernels.shoal_static_end() >>> 0),
    // Widths follow from sizes that may come later: sizes first.
    sizes: checkNumbers(kernel, args),
    arrays: {},
    spans: [],
  };
  parameters.forEach((parameter, i) => {
    if (parameter.kind === "shape") shape(call, parameter, args[i]);
  });
  const complaint = relation?.(call.sizes);
  if (complaint !== undefined) refuse(call, complaint);
  // Indices may say how long rows are, and how large other arrays.
  parameters.forEach((parameter, i) => {
    if (parameter.kind === "array" && parameter.below) {
      array(call, parameter, args[i]);
    }
  });
  parameters.forEach((parameter, i) => {
    if (parameter.kind === "rows") rows(call, parameter, args[i]);
    else if (parameter.kind === "tables") tables(call, parameter, args[i]);
    else if (parameter.kind === "array" && !parameter.below) {
      array(call, parameter, args[i]);
    }
  });
  checkOverlaps(kernel, call.spans);
}

function refuse({ kernel }: Call, complaint: string): never {
  throw new RangeError(`${kernel}: ${complaint}`);
}

function shape(
  call: Call,
  { name, grouped }: ShapeParameter,
  address: number,
): void {
  span(call, `${name}`, address, SHAPE_BYTES, 4);
  SHAPE_FIELDS.forEach((field, i) => {
    const value = call.memory.integer(address + 4 * i);
    // Pads below 0 leave lines out, as threads do that share an image.
    if (value < 1 && !field.startsWith("pad")) {
      refuse(
        call,
        `${name}: ${field} must be at least 1, is ${value}; write the words of shapeWords()`,
      );
    }
    call.sizes[field] = value;
  });
  const { groups, channels, outChannels } = call.sizes;
  if (grouped && (channels % groups !== 0 || outChannels % groups !== 0)) {
    refuse(
      call,
      `${name}: ${groups} groups do not divide ${channels} channels into ${outChannels}`,
    );
  }
  call.sizes[name] = address;
  call.spans.push({
    operand: name,
    from: address,
    to: address + SHAPE_BYTES,
    access: "in",
  });
}

/** Refuses what is not an address of `bytes` bytes of the host's. */
function span(
  call: Call,
  what: string,
  address: number,
  bytes: number,
  alignment: number,
): void {
  const { memory } = call;
  if (!Number.isInteger(address) || address < 0 || address >= 2 ** 32) {
    const signed = address < 0 ? "; write address >>> 0" : "";
    refuse(call, `${what} is ${address}, which is no address${signed}`);
  }
  if (address % alignment !== 0) {
    refuse(
      call,
      `${what} lies at ${address}, which is not ${alignment}-byte aligned; place it at a multiple of ${alignment}`,
    );
  }
  if (address < memory.staticEnd) {
    refuse(
      call,
      `${what} lies at ${address}, in the module's own data; place operands from shoal_static_end() = ${memory.staticEnd} on`,
    );
  }
  if (address + bytes > memory.bytes) {
    refuse(
      call,
      `${what} (${bytes} bytes at ${address}) ends outside memory of ${memory.bytes} bytes; grow it or place the operand lower`,
    );
  }
}

function rows(
  call: Call,
  parameter: RowsParameter,
  table: number,
): void {
  const { sizes, kernels, memory } = call;
  if (parameter.when?.(sizes) === false) return;
  if (parameter.optional && table === 0) return;
  const { name, type, each } = parameter;
  const bytes = (row: number) => {
    const all = each === undefined
      ? sizes
      : { ...sizes, each: memory.integer(call.arrays[each] + 4 * row) };
    return rowBytes(type, rowWidth(parameter, all, kernels));
  };
  const count = rowCount(parameter, sizes, kernels);
  rowTable(call, parameter, table, { name, bytes, count });
}

function rowTable(
  call: Call,
  { access, over, repeats }: Pick<RowsParameter, "access" | "over" | "repeats">,
  table: number,
  { name, bytes, count }: {
    name: string;
    bytes: (row: number) => number;
    count: number;
  },
): void {
  span(call, `${name}, a table of ${count} rows,`, table, 4 * count, 4);
  call.spans.push({
    operand: `${name}'s table`,
    from: table,
    to: table + 4 * count,
    access: "in",
  });
  for (let row = 0; row < count; ++row) {
    const from = call.memory.word(table + 4 * row);
    const size = bytes(row);
    span(call, `${name}: row ${row}`, from, size, 4);
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

function array(
  call: Call,
  parameter: ArrayParameter,
  address: number,
): void {
  const { sizes, kernels, memory } = call;
  const { name, type, access, length, alignment, below } = parameter;
  if (parameter.optional && address === 0) return;
  const elements = countOf(length, sizes, kernels);
  const bytes = rowBytes(type, elements);
  span(call, `${name}`, address, bytes, alignment);
  call.spans.push({
    operand: name,
    from: address,
    to: address + bytes,
    access: access === "in" ? "in" : "out",
  });
  call.arrays[name] = address;
  if (below === undefined) return;
  if (parameter.greatest !== undefined) {
    call.sizes[parameter.greatest] = Array.from(
      { length: elements },
      (_, i) => memory.integer(address + 4 * i),
    ).reduce((a, b) => Math.max(a, b), 0);
  }
  const { offsets, stride, inclusive = false } = below;
  const most = below.limit(sizes) - (inclusive ? 0 : 1);
  for (let i = 0; i < elements; i += stride) {
    for (const offset of offsets) {
      const value = memory.integer(address + 4 * (i + offset));
      if (value < 0 || value > most) {
        refuse(
          call,
          `${name}: element ${
            i + offset
          } is ${value}, must be between 0 and ${most}`,
        );
      }
    }
  }
}

function tables(
  call: Call,
  { name, count, width }: TablesParameter,
  address: number,
): void {
  const { sizes, memory } = call;
  const tableCount = sizes[count];
  span(
    call,
    `${name}, a list of ${tableCount} tables,`,
    address,
    4 * tableCount,
    4,
  );
  for (let i = 0; i < tableCount; ++i) {
    rowTable(call, { access: "in" }, memory.word(address + 4 * i), {
      name: `${name}[${i}]`,
      bytes: () => 4 * sizes[width],
      count: sizes.m,
    });
  }
}
