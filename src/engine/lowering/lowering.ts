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
import { alignUp } from "../../graph/slot_plan.ts";
import { BYTES_PER_ELEMENT, type TensorData } from "../../tensor/tensor.ts";
import {
  type Argument,
  type Call,
  type CellProgram,
  type FixedTable,
  type LocalCache,
  ROWS_PER_CALL,
  SCRATCH_ROWS_BYTES,
  type TableRef,
} from "./cell_program.ts";
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
  "Flatten",
]);

/** A cell on its way to a program: where its values are, and the calls so far. */
export class Lowering extends CellUses {
  readonly #calls: Call[] = [];
  readonly #fixedTables: FixedTable[] = [];
  /** Where each value's rows are, by value id. */
  readonly #rows = new Map<number, TableRef>();
  /** Operators whose work another one has taken over. */
  readonly #fused = new Set<Operator>();
  readonly #localCaches: LocalCache[];
  /** Scratch rows for what lies between operators: their tables, and bytes from one to the next. */
  readonly #scratchRows: { readonly table: number; readonly stride: number }[] =
    [];
  /** Rows, or tokens, that tables have room for. */
  readonly rowsPerCall: number;
  #tableBytes = 0;
  #scratchBytes = 0;

  constructor(cell: Cell, readonly place: PlaceConstant) {
    super(cell);
    this.rowsPerCall = Math.max(
      ROWS_PER_CALL,
      wholePanels(cell.tokensMax ?? 0),
    );
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
      const own = producer !== undefined && !VIEWS.has(producer.op);
      if (own && !this.#rows.has(value.id)) {
        this.#rows.set(value.id, { port: cell.inputs.length + port });
      }
    });
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
          value.width * BYTES_PER_ELEMENT,
          from,
          to,
        ]);
      }
    });
    const rowBytes = this.#scratchRows.reduce(
      (sum, { stride }) => sum + stride,
      0,
    );
    // All tokens of a request at least.
    const rowsPerCall = Math.max(
      cell.tokensMax === undefined ? 1 : wholePanels(cell.tokensMax),
      Math.min(this.rowsPerCall, Math.floor(SCRATCH_ROWS_BYTES / rowBytes)),
    );
    for (const { table, stride } of this.#scratchRows) {
      const base = { scratch: this.scratch(stride * rowsPerCall) };
      this.#fixedTables.push({ table, base, stride });
    }
    return {
      name: cell.name,
      inputWidths: cell.inputs.map(({ width }) => width),
      outputWidths: cell.outputs.map(({ width }) => width),
      cachePositions: cell.caches.map(({ positionsMax }) => positionsMax),
      localCaches: this.#localCaches,
      ragged: cell.tokensMax !== undefined,
      calls: this.#calls,
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

  /** Where a computed value goes: its output port, or scratch rows of the worker. */
  output(value: Value): TableRef {
    const known = this.#rows.get(value.id);
    if (known !== undefined) return known;
    const rows = this.ownTable();
    const stride = alignUp(value.width * BYTES_PER_ELEMENT);
    this.#scratchRows.push({ table: rows.own, stride });
    this.#rows.set(value.id, rows);
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

  /** Every entry of a table, an address or a count, plus a number. */
  offset(from: TableRef, bytes: number): TableRef {
    if (bytes === 0) return from;
    const to = this.ownTable();
    this.#calls.push({ call: "offset", from, to, bytes });
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

  /** A table that calls of the program fill. */
  ownTable(): { own: number } {
    const own = this.#tableBytes;
    this.#tableBytes += BYTES_PER_ELEMENT * this.rowsPerCall;
    return { own };
  }

  /** A table of rows that stay where they are: row i at `base + i * stride`. */
  fixedTable(base: FixedTable["base"], stride: number): TableRef {
    const table = this.ownTable();
    this.#fixedTables.push({ table: table.own, base, stride });
    return table;
  }

  /** @returns byte offset of working memory within the worker's scratch; a multiple of 16 stays one */
  scratch(bytes: number): number {
    const at = this.#scratchBytes;
    this.#scratchBytes += bytes;
    return at;
  }

  /** @param reports the kernel returns -1, or the first row that it cannot compute */
  kernel(
    kernel: (Call & { call: "kernel" })["kernel"],
    args: readonly Argument[],
    reports = false,
  ): void {
    this.#calls.push({
      call: "kernel",
      kernel,
      args,
      ...(reports && { reports }),
    });
  }
}
