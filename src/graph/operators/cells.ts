import { describe, listed } from "../../base/describe.ts";
import type { CellBody } from "../cell_body.ts";
import type { Cell } from "../cell.ts";
import type { Operator, Value } from "../operator.ts";
import { axesOf, sameLayout, shapeOf } from "../row_layout.ts";
import { isShape } from "../../tensor/tensor.ts";

/** Cells made of cells. */
export interface CellOperators {
  /**
   * The operators of another cell as part of this one: what two launches would compute, in one.
   * @param cell without caches, stop rule and tokens
   * @param inputs a value for each of its inputs, by name; axes may be others, of as many elements
   * @returns its outputs by name
   */
  Cell(
    cell: Cell,
    inputs: Readonly<Record<string, Value>>,
  ): Record<string, Value>;
}

export const cellOperators = (body: CellBody): CellOperators => ({
  Cell(cell, inputs) {
    const what = `cell "${cell.name}" as a part`;
    body.expect(
      cell.caches.length + cell.localCaches.length === 0 &&
        cell.tokensMax === undefined && cell.stop === undefined,
      `${what}: it has caches, tokens or a stop rule`,
    );
    const names = cell.inputs.map(({ name }) => name);
    body.known(what, inputs, names);
    const values = new Map<number, Value>();
    cell.inputs.forEach((port, id) => {
      const given = inputs[port.name];
      if (given === undefined) {
        throw new TypeError(
          `Cell "${body.cell}": ${what} takes ${listed(names)}, got ${
            describe(given)
          } for "${port.name}"`,
        );
      }
      body.own(`"${port.name}" of ${what}`, given);
      body.expect(
        sameLayout(port, given),
        `"${port.name}" of ${what} is ${port.dtype}[${
          shapeOf(port)
        }], got ${given.dtype}[${shapeOf(given)}]`,
      );
      values.set(id, read(body, given, port));
    });
    const declare = (value: Value): Value => {
      const own = body.declare(value.dtype, value.width, value);
      values.set(value.id, own);
      return own;
    };
    for (const operator of cell.operators) {
      body.emit({
        ...operator,
        inputs: operator.inputs.map(({ id }) => values.get(id)!),
        outputs: operator.outputs.map(declare),
      } as Operator);
    }
    return Object.fromEntries(
      cell.outputs.map(({ name }, i) => [
        name,
        values.get(cell.results[i].id)!,
      ]),
    );
  },
});

/** A value with the axes of a port. */
function read(
  body: CellBody,
  value: Value,
  { dtype, width, shape }: Cell["inputs"][number],
): Value {
  if (value.image || isShape(axesOf(value), shape ?? [width])) return value;
  const made = body.declare(dtype, width, shape ? { shape } : {});
  return body.emit({ op: "Reshape", inputs: [value], outputs: [made] });
}
