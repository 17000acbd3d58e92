import { describe, shorten } from "../base/describe.ts";
import type { Port } from "./cell.ts";
import { axesOf, shapeOf } from "./row_layout.ts";

/**
 * A named result of a request: one row, or rows that were collected, in order.
 * @typeParam Output an output of a node
 */
export interface ResultRows<Output> {
  /** Type and shape of a row. */
  readonly port: Port;
  /** Whether it is rows that were collected: they get a leading axis. */
  readonly collected: boolean;
  /** Axis of the port, of size 1, that rows are along in place of one in front. */
  readonly axis?: number;
  /** Where the rows come from. */
  readonly sources: Output[];
}

/** A port as messages name it. */
export function typeOf(port: Port): string {
  return `${port.dtype}[${shapeOf(port)}]`;
}

/** Whether rows of two ports can be rows of one result. */
export function isSamePort(a: Port, b: Port): boolean {
  const [axes, others] = [axesOf(a), axesOf(b)];
  return a.dtype === b.dtype && axes.length === others.length &&
    axes.every((size, i) => size === others[i]);
}

/**
 * A result of its first row.
 * @throws RangeError when rows of the port cannot be along its axis
 */
export function resultRows<Output>(
  name: string,
  port: Port,
  source: Output,
  collected: boolean,
  { axis }: { readonly axis?: number } = {},
): ResultRows<Output> {
  const rows = { port, collected, sources: [source] };
  if (axis === undefined) return rows;
  const before = axesOf(port).slice(0, axis + 1);
  const isOne = Number.isInteger(axis) && axis >= 0 &&
    before.length === axis + 1 && before.every((size) => size === 1);
  if (isOne) return { ...rows, axis };
  throw new RangeError(
    `Rows of result "${shorten(name)}" cannot be along axis ${
      describe(axis)
    } of ${typeOf(port)}: it is 1 there, and so are those before it`,
  );
}
