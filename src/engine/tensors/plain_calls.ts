/** Calls of operators in plain TypeScript, over the rows of a task. */
import type { RunPlain } from "../../graph/operator.ts";
import {
  bytesOfType,
  newElements,
  type PlainTensor,
  type PlainType,
} from "../../tensor/plain_tensor.ts";
import { isShape } from "../../tensor/tensor.ts";
import type {
  CellProgram,
  PlainCall,
  PlainRows,
} from "../lowering/cell_program.ts";
import type { Compiled } from "./compiled.ts";

/** Whether programs have operators in plain TypeScript. */
export function needsPlain(programs: readonly CellProgram[]): boolean {
  return programs.some(({ calls }) =>
    calls.some(({ call }) => call === "plain")
  );
}

/** Rows of one operand: their table, and how they are read and written. */
interface Operand {
  readonly table: Compiled;
  readonly rows: PlainRows;
}

/** The last row that an operator refused. */
export interface Refusal {
  /** Why. */
  reason: string;
}

/**
 * @param tableOf where a table is
 * @param addresses linear memory
 * @param refusal what is said of a row that is refused
 * @throws Error when there is nothing to run operators with
 */
export function compilePlain(
  { name, opset, attributes, captured, inputs, outputs }: PlainCall,
  run: RunPlain | undefined,
  tableOf: (rows: PlainRows["rows"]) => Compiled,
  addresses: Uint32Array,
  refusal: Refusal,
): Compiled {
  if (run === undefined) {
    throw new Error(`There is nothing to run operator "${name}" with`);
  }
  const operand = (rows: PlainRows): Operand => ({
    table: tableOf(rows.rows),
    rows,
  });
  const context = {
    opset,
    outputs: outputs.length,
    ...(captured && { captured }),
  };
  const given = inputs.map((one) =>
    one !== undefined && "rows" in one ? operand(one) : one
  );
  const made = outputs.map(operand);
  const bytes = new Uint8Array(addresses.buffer);
  return (rows, ports, stride) => {
    const addressOf = ({ table }: Operand, row: number) =>
      addresses[(table(rows, ports, stride) >>> 2) + row];
    for (let row = 0; row < rows; row++) {
      try {
        const tensors = given.map((one) =>
          one !== undefined && "table" in one
            ? tensorAt(bytes, addressOf(one, row), one.rows)
            : one
        );
        const results = run(name, tensors, attributes, context);
        made.forEach((one, i) =>
          write(bytes, addressOf(one, row), one.rows, results[i])
        );
      } catch (error) {
        refusal.reason = error instanceof Error ? error.message : `${error}`;
        return row;
      }
    }
    return -1;
  };
}

/** A row as a tensor; a view, unless it lies where no array of the type can. */
function tensorAt(
  { buffer }: Uint8Array,
  address: number,
  { type, dims, count }: PlainRows,
): PlainTensor {
  const size = bytesOfType(type);
  const Elements = newElements(type, 0).constructor as unknown as new (
    buffer: ArrayBufferLike,
    address?: number,
    count?: number,
  ) => PlainTensor["data"];
  const data = address % size === 0
    ? new Elements(buffer, address, count)
    : new Elements(buffer.slice(address, address + size * count));
  return { type, dims, data } as PlainTensor<PlainType>;
}

/** @throws TypeError when an output is not what was said */
function write(
  bytes: Uint8Array,
  address: number,
  { type, dims }: PlainRows,
  result: PlainTensor | undefined,
): void {
  if (result?.type !== type || !isShape(result.dims, dims)) {
    throw new TypeError(`an output is not ${type} of ${dims.join(" x ")}`);
  }
  const { buffer, byteOffset, byteLength } = result.data;
  bytes.set(new Uint8Array(buffer, byteOffset, byteLength), address);
}
