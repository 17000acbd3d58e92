/**
 * States that exporters lay out number by number, such as h and c of two LSTM layers as [layers][units][2]: reading one
 * of them is a copy of single elements, and so is writing it. In another order of the elements, each value that becomes
 * a part of the state lies together, is written where it belongs and read where it lies. Only the next frame ever reads
 * a state, so that the order is the cell's own business.
 */
import type { Cell, Port } from "./cell.ts";
import { CellUses } from "./cell_uses.ts";
import type { Operator, Value } from "./operator.ts";
import { lastAxis, rowsOf } from "./row_layout.ts";

/** Element `index` of a value that a state is put together from. */
interface Element {
  readonly of: Value;
  readonly index: number;
}

/**
 * The cell with the elements of a state in an order in which whatever becomes a part of it, and whatever is read of it,
 * lies together; its two ports are rows without axes then. The cell itself where they lie together already, or where
 * there is no such order.
 * @param input the port that a state is read at
 * @param output the port that the next one leaves by, of as many elements
 */
export function regroupState(cell: Cell, input: number, output: number): Cell {
  const { dtype, width } = cell.inputs[input];
  const uses = new CellUses(cell);
  const parts = partsOf(cell.results[output], uses);
  const places = placesOf(parts);
  if (places === undefined || isRun(places)) return cell;
  const reads = readsOf(cell.inputs[input], input, uses);
  const starts = new Map<number, number>();
  for (const [id, elements] of reads) {
    const read = elements.map((element) => places[element]);
    if (!isRun(read)) return cell;
    starts.set(id, read[0]);
  }

  let lastId = Math.max(
    cell.inputs.length,
    ...cell.operators.flatMap(({ outputs }) => outputs.map(({ id }) => id)),
  );
  const row = (width: number): Value => ({ id: ++lastId, dtype, width });
  const flat = ({ name }: Port): Port => ({ name, dtype, width });
  const state: Value = { id: input, dtype, width };
  const made = row(width);
  const values = [...new Set(parts.map(({ of }) => of))];
  const rows = values.map(({ width }) => row(width));
  const operators = [
    ...cell.operators.flatMap((operator): Operator[] => {
      const [value] = operator.outputs;
      const start = value && starts.get(value.id);
      if (start === undefined) return [operator];
      const part = row(value.width);
      return [
        { op: "Slice", start, inputs: [state], outputs: [part] },
        { op: "Reshape", inputs: [part], outputs: [value] },
      ];
    }),
    ...values.map((value, i): Operator => (
      { op: "Reshape", inputs: [value], outputs: [rows[i]] }
    )),
    { op: "Concat", inputs: rows, outputs: [made] } satisfies Operator,
  ];
  const results = cell.results.with(output, made);
  return {
    ...cell,
    inputs: cell.inputs.with(input, flat(cell.inputs[input])),
    outputs: cell.outputs.with(output, flat(cell.outputs[output])),
    operators: withoutUnreadMoves(operators, results),
    results,
  };
}

/** Whether numbers are so many that follow each other. */
function isRun(numbers: readonly number[]): boolean {
  return numbers.every((number, i) => number === numbers[0] + i);
}

/** What each element of a value is, before it was put together and reshaped. */
function partsOf(value: Value, uses: CellUses): readonly Element[] {
  const producer = uses.producer(value);
  if (producer?.op === "Reshape") return partsOf(producer.inputs[0], uses);
  if (producer?.op !== "Concat" || value.image) {
    return Array.from({ length: value.width }, (_, index) => ({
      ...{ of: value, index },
    }));
  }
  const inputs = producer.inputs.map((input) => ({
    ...{ last: lastAxis(input), elements: partsOf(input, uses) },
  }));
  return Array.from(
    { length: rowsOf(value) },
    (_, i) =>
      inputs.flatMap(({ last, elements }) =>
        elements.slice(i * last, (i + 1) * last)
      ),
  ).flat();
}

/**
 * Where each element goes: values in the order of their first elements, each whole. Undefined where one is there in
 * part, or twice.
 */
function placesOf(parts: readonly Element[]): number[] | undefined {
  const starts = new Map<Value, number>();
  let width = 0;
  for (const { of } of parts) {
    if (starts.has(of)) continue;
    starts.set(of, width);
    width += of.width;
  }
  const places = parts.map(({ of, index }) => starts.get(of)! + index);
  const isWhole = width === parts.length &&
    new Set(places).size === parts.length;
  return isWhole ? places : undefined;
}

/** Elements of the state that values are which somebody computes with, or which leave the cell, by id. */
function readsOf(
  { width }: Port,
  input: number,
  uses: CellUses,
): ReadonlyMap<number, readonly number[]> {
  const { cell } = uses;
  const views = new Map([[input, Array.from({ length: width }, (_, i) => i)]]);
  const isView = ({ op }: Operator) => op === "Slice" || op === "Reshape";
  for (const operator of cell.operators) {
    const elements = views.get(operator.inputs[0]?.id);
    if (elements === undefined || !isView(operator)) continue;
    const { inputs: [x], outputs: [value] } = operator;
    const kept = lastAxis(value);
    views.set(
      value.id,
      operator.op !== "Slice" ? elements : elements.filter((_, i) => {
        const at = i % lastAxis(x) - operator.start;
        return at >= 0 && at < kept;
      }),
    );
  }
  const isRead = (id: number) =>
    cell.results.some((result) => result.id === id) ||
    cell.operators.some((operator) =>
      !isView(operator) && operator.inputs.some((value) => value.id === id)
    );
  return new Map([...views].filter(([id]) => isRead(id)));
}

/** Operators without those that only move what nobody reads. */
function withoutUnreadMoves(
  operators: readonly Operator[],
  results: readonly Value[],
): Operator[] {
  const read = new Set(results.map(({ id }) => id));
  return operators.toReversed().filter(({ op, inputs, outputs }) => {
    const moves = op === "Slice" || op === "Reshape" || op === "Concat";
    if (moves && !read.has(outputs[0].id)) return false;
    for (const { id } of inputs) read.add(id);
    return true;
  }).reverse();
}
