import { assert } from "../../base/assert.ts";
import type { Cell } from "../../graph/cell.ts";
import { wholePanels } from "../../graph/cache.ts";
import { CellUses } from "../../graph/cell_uses.ts";
import type {
  ByOperator,
  CacheRef,
  Operator,
  OperatorName,
  Value,
} from "../../graph/operator.ts";
import {
  bytesOfRow,
  lastAxis,
  rowBytes,
  rowsOf,
} from "../../graph/row_layout.ts";
import { alignUp } from "../../graph/slot_plan.ts";
import { BYTES_PER_ELEMENT, type TensorData } from "../../tensor/tensor.ts";
import {
  type Argument,
  CACHED_ROWS_BYTES,
  type Call,
  type CellProgram,
  type FixedTable,
  type KernelCall,
  type LocalCache,
  type PlainCall,
  ROWS_PER_CALL,
  SCRATCH_ROWS_BYTES,
  type TableRef,
  type TurnArgument,
} from "./cell_program.ts";
import { neededCalls } from "./needed_calls.ts";
import { isSameRow, type PartOf, partsInPlace } from "./parts_in_place.ts";
import { type CACHE_TABLES, cacheTable, portLayout } from "./task_layout.ts";

/** Puts constant data into the shared memory and says where; 16-byte aligned. */
export type PlaceConstant = (data: TensorData) => number;

/** How the operators of a family become calls. */
export type Lowerings<Family extends Operator> = ByOperator<
  Family,
  [Lowering],
  void
>;

/** Operators that only say where rows lie, or may: what leaves the cell through them is copied. */
const VIEWS: ReadonlySet<OperatorName> = new Set([
  "Gather",
  "Slice",
  "Constant",
  "Reshape",
  "Flatten",
  "Unflatten",
]);

/** Operators of which one operand may be taken again and again. */
const REPEATS: ReadonlySet<OperatorName> = new Set([
  ...(["Add", "Sub", "Mul", "Div", "Max", "Min"] as const),
]);

/** Entries that tables of parts of rows have room for; but for one row at least. */
const TABLE_ENTRIES = 4096;

/** Rows of a product from which on its rate hardly grows (docs/kernels.md). */
const PRODUCT_ROWS = 64;

/** Elements of a constant that is written out for a whole row instead of taken again and again. */
export const TILED_ELEMENTS = 16;

/** Rows that a cell is computed at once: fewer where tables name the parts of a row. */
function rowsAtOnce({ operators }: Cell): number {
  const tiled = new Set(
    operators.flatMap(({ op, outputs: [value] }) =>
      op === "Constant" && value.width < TILED_ELEMENTS ? [value.id] : []
    ),
  );
  let most = 1;
  for (const { op, inputs, outputs } of operators) {
    if (op === "Concat" || VIEWS.has(op)) continue;
    if (REPEATS.has(op)) {
      for (const { id, width } of inputs) {
        if (!tiled.has(id)) most = Math.max(most, outputs[0].width / width);
      }
      continue;
    }
    for (const value of [...inputs, ...outputs]) {
      most = Math.max(most, rowsOf(value));
    }
  }
  return Math.max(1, Math.min(ROWS_PER_CALL, Math.floor(TABLE_ENTRIES / most)));
}

/**
 * Rows that a cell has to be computed at once for the sake of its weights: nothing is gained by more than
 * PRODUCT_ROWS rows of a product, which convolutions have one of for each pixel.
 */
function rowsForWeights({ operators }: Cell): number {
  let fewest = PRODUCT_ROWS;
  for (const operator of operators) {
    if (operator.op === "Conv") {
      const { outHeight, outWidth } = operator.shape;
      fewest = Math.min(fewest, outHeight * outWidth);
    } else if ("weight" in operator || "w" in operator) return ROWS_PER_CALL;
  }
  return Math.ceil(PRODUCT_ROWS / fewest);
}

/** So many times the number of rows. */
export function times(count: number): Argument {
  return count === 1 ? "rows" : { rowsTimes: count };
}

/** A cell on its way to a program: where its values are, and the calls so far. */
export class Lowering extends CellUses {
  readonly #calls: Call[] = [];
  readonly #fixedTables: FixedTable[] = [];
  /** Where each value's rows are, by value id. */
  readonly #rows = new Map<number, TableRef>();
  /** Operators whose work another one has taken over. */
  readonly #fused = new Set<Operator>();
  readonly #localCaches: LocalCache[];
  /** Tables of parts of rows, by what they are spread from. */
  readonly #spreads = new Map<string, TableRef>();
  /** Tables of places within rows, by what they are offset from. */
  readonly #offsets = new Map<string, TableRef>();
  /** Values that are written where they are put together. */
  readonly #parts: ReadonlyMap<number, PartOf>;
  /** Scratch rows for what lies between operators: their tables, and bytes from one to the next. */
  readonly #scratchRows: { readonly table: number; readonly stride: number }[] =
    [];
  /** Rows, or tokens, that tables have room for. */
  readonly rowsPerCall: number;
  #tableBytes = 0;
  #scratchBytes = 0;

  constructor(cell: Cell, readonly place: PlaceConstant) {
    super(cell);
    this.rowsPerCall = cell.tokensMax === undefined
      ? rowsAtOnce(cell)
      : Math.max(ROWS_PER_CALL, wholePanels(cell.tokensMax));
    this.#localCaches = cell.localCaches.map(({ keyWidth, valueWidth }) => {
      const scratch = (width: number) =>
        this.scratch(width * BYTES_PER_ELEMENT * this.rowsPerCall);
      const [keys, values] = [scratch(keyWidth), scratch(valueWidth)];
      return { keyWidth, valueWidth, keys, values };
    });
    cell.inputs.forEach((_, port) => this.#rows.set(port, { port }));
    // A value leaves through the first output port that names it; others get a copy.
    cell.results.forEach((value, port) => {
      const producer = this.producer(value);
      // What is reshaped may lie elsewhere, which is found out when it is, and copied.
      const own = producer !== undefined &&
        (isSameRow(producer) || !VIEWS.has(producer.op));
      if (own && !this.#rows.has(value.id)) {
        this.#rows.set(value.id, { port: cell.inputs.length + port });
      }
    });
    this.#parts = partsInPlace(cell, ({ id }) => this.#rows.has(id));
  }

  /** @param lower makes the calls of one operator */
  program(lower: (operator: Operator) => void): CellProgram {
    const { cell } = this;
    for (const operator of cell.operators) {
      if (!this.#fused.has(operator)) lower(operator);
    }
    cell.results.forEach((value, port) => {
      const from = this.tableOf(value);
      const to = { port: cell.inputs.length + port };
      if (!("port" in from && from.port === to.port)) {
        this.kernel("copy_rows", [
          "rows",
          rowBytes(value),
          from,
          to,
        ]);
      }
    });
    const scratch = this.#scratchRows.reduce(
      (sum, { stride }) => sum + stride,
      0,
    );
    const { tokensMax } = cell;
    // More rows than caches hold between two calls only where weights are used too seldom otherwise.
    const useful = tokensMax === undefined
      ? Math.max(rowsForWeights(cell), Math.floor(CACHED_ROWS_BYTES / scratch))
      : Infinity;
    const most = Math.floor(SCRATCH_ROWS_BYTES / scratch);
    // All tokens of a request at least.
    const rowsPerCall = Math.max(
      tokensMax === undefined ? 1 : wholePanels(tokensMax),
      Math.min(this.rowsPerCall, most, useful),
    );
    for (const { table, stride } of this.#scratchRows) {
      const base = { scratch: this.scratch(stride * rowsPerCall) };
      this.#fixedTables.push({ table, base, stride });
    }
    return {
      name: cell.name,
      inputBytes: cell.inputs.map(rowBytes),
      outputBytes: cell.outputs.map(rowBytes),
      cachePositions: cell.caches.map(({ positionsMax }) => positionsMax),
      localCaches: this.#localCaches,
      ragged: cell.tokensMax !== undefined,
      calls: neededCalls(this.#calls),
      fixedTables: this.#fixedTables,
      rowsPerCall,
      tableBytes: this.#tableBytes,
      scratchBytes: this.#scratchBytes,
      ...(cell.stop &&
        { stop: { port: cell.stop.port, token: cell.stop.token ?? -1 } }),
    };
  }

  /** Another operator does the work of this one: it becomes no call. */
  fuse(operator: Operator): void {
    this.#fused.add(operator);
  }

  tableOf(value: Value): TableRef {
    const rows = this.#rows.get(value.id);
    assert(
      rows !== undefined,
      `value ${value.id} of cell "${this.cell.name}" is produced before it is read`,
    );
    return rows;
  }

  /** The value lies there already. */
  lies(value: Value, rows: TableRef): void {
    this.#rows.set(value.id, rows);
  }

  /** Where a computed value goes: its output port, the row that it is a part of, or scratch rows of the worker. */
  output(value: Value): TableRef {
    const known = this.#rows.get(value.id);
    if (known !== undefined) return known;
    const part = this.#parts.get(value.id);
    const rows = part
      ? this.offset(this.output(part.whole), part.bytes)
      : this.temporary(rowBytes(value));
    this.#rows.set(value.id, rows);
    return rows;
  }

  /** Rows of a kernel that are as many as a value's, of all requests: see RowShape. */
  rows(value: Value): Argument {
    return times(rowsOf(value));
  }

  /** The rows of a kernel that a value is, of all requests. */
  rowTable(value: Value): TableRef {
    return this.#perRow(value, this.tableOf(value));
  }

  /** Where such rows go. */
  outputRows(value: Value): TableRef {
    return this.#perRow(value, this.output(value));
  }

  #perRow(value: Value, from: TableRef): TableRef {
    return this.spread(
      from,
      rowsOf(value),
      bytesOfRow(value.dtype, lastAxis(value)),
    );
  }

  /**
   * `count` addresses for each of the table's, so many bytes apart; 0: each `count` times.
   * @param of entries that the table has for each row
   */
  spread(from: TableRef, count: number, bytes: number, of = 1): TableRef {
    if (count === 1) return from;
    const key = [Object.entries(from), count, bytes].join();
    const known = this.#spreads.get(key);
    if (known) return known;
    const to = this.ownTable(of * count);
    this.#calls.push({ call: "spread", from, to, of, count, bytes });
    this.#spreads.set(key, to);
    return to;
  }

  /** A row that all requests share. */
  constantRow(data: TensorData): TableRef {
    return this.fixedTable(this.place(data), 0);
  }

  /** Scratch rows of so many bytes: of nothing that has a name. */
  temporary(bytes: number): TableRef {
    const rows = this.ownTable();
    this.#scratchRows.push({ table: rows.own, stride: alignUp(bytes) });
    return rows;
  }

  /** One of the tables of a cache. */
  cacheTable(
    { kind, index }: CacheRef,
    table: keyof typeof CACHE_TABLES,
  ): TableRef {
    const { inputs, outputs, caches } = this.cell;
    const cache = kind === "port" ? index : caches.length + index;
    const ports = portLayout({
      inputs: inputs.length,
      outputs: outputs.length,
      caches: caches.length,
    });
    return { port: cacheTable(ports, cache, table) };
  }

  /** Every entry of a table, an address or a count, plus a number; of a table of `count` for each row. */
  offset(from: TableRef, bytes: number, count = 1): TableRef {
    if (bytes === 0) return from;
    const key = [Object.entries(from), bytes, count].join();
    const known = this.#offsets.get(key);
    if (known) return known;
    const to = this.ownTable(count);
    this.#calls.push({ call: "offset", from, to, bytes, count });
    this.#offsets.set(key, to);
    return to;
  }

  /** The values' tables as an array of operands. */
  list(values: readonly Value[]): TableRef {
    const to = this.ownTable();
    this.#calls.push({
      call: "list",
      tables: values.map((value) => this.tableOf(value)),
      to,
    });
    return to;
  }

  /** A table that calls of the program fill, of `count` entries for each row. */
  ownTable(count = 1): { own: number } {
    const own = this.#tableBytes;
    this.#tableBytes += BYTES_PER_ELEMENT * this.rowsPerCall * count;
    return { own };
  }

  /** A table of rows that stay where they are: row i at `base + i * stride`. */
  fixedTable(base: FixedTable["base"], stride: number): TableRef {
    const table = this.ownTable();
    this.#fixedTables.push({ table: table.own, base, stride });
    return table;
  }

  /** @returns byte offset of working memory within the worker's scratch, a multiple of 16 */
  scratch(bytes: number): number {
    const at = this.#scratchBytes;
    this.#scratchBytes += alignUp(bytes);
    return at;
  }

  /** @param reports see Call */
  kernel(
    kernel: KernelCall["kernel"],
    args: readonly Argument[],
    reports?: number,
  ): void {
    this.#calls.push({
      call: "kernel",
      kernel,
      args,
      ...(reports !== undefined && { reports }),
    });
  }

  /** An operator in plain TypeScript. */
  plain(call: PlainCall): void {
    this.#calls.push(call);
  }

  /** Calls that are made `turns` times for each row. */
  each(turns: number, calls: readonly KernelCall<TurnArgument>[]): void {
    this.#calls.push({ call: "each", turns, calls });
  }
}
