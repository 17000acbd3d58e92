import type { Cell } from "./cell.ts";
import type { Operator, Value } from "./operator.ts";

/** Who makes and who reads the values of a cell. */
export class CellUses {
  readonly #producers = new Map<number, Operator>();
  readonly #readers = new Map<number, Operator[]>();

  constructor(readonly cell: Cell) {
    for (const operator of cell.operators) {
      for (const output of operator.outputs) {
        this.#producers.set(output.id, operator);
      }
      for (const input of operator.inputs) {
        const readers = this.#readers.get(input.id);
        if (readers) readers.push(operator);
        else this.#readers.set(input.id, [operator]);
      }
    }
  }

  /** The operator that makes a value; none for an input of the cell. */
  producer(value: Value): Operator | undefined {
    return this.#producers.get(value.id);
  }

  /** The operators that read a value, one that reads it twice twice. */
  readers(value: Value): readonly Operator[] {
    return this.#readers.get(value.id) ?? [];
  }

  /** Whether the value is one of the cell's outputs. */
  leaves(value: Value): boolean {
    return this.cell.results.some(({ id }) => id === value.id);
  }

  /** The one operator that reads a value that nobody else needs. */
  onlyReader(value: Value): Operator | undefined {
    const readers = this.readers(value);
    return readers.length === 1 && !this.leaves(value) ? readers[0] : undefined;
  }

  /** Whether a value is there before `operator` is computed: an input, or made by an earlier operator. */
  precedes(value: Value, operator: Operator): boolean {
    const producer = this.producer(value);
    const { operators } = this.cell;
    return producer === undefined ||
      operators.indexOf(producer) < operators.indexOf(operator);
  }
}
