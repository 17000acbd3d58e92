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
