/** What a node may be given as lengths, tokens and caches; see CellGraph.node. */
import type { TensorData } from "../tensor/tensor.ts";
import type { Cache, CacheUse } from "./cache.ts";
import type { Cell, Port } from "./cell.ts";

/** Who reads: a port of a node of a cell. */
interface Reader {
  readonly port: Port;
  readonly cell: Cell;
  /** Tokens of the node. */
  readonly length: number;
}

/** Tokens of a node; 1 of one that is not ragged. */
export function checkLength(cell: Cell, length: number | undefined): number {
  const { tokensMax } = cell;
  if (tokensMax === undefined) {
    if (length === undefined) return 1;
    throw new TypeError(
      `A node of cell "${cell.name}", which is not ragged, has a row, not ${length} tokens`,
    );
  }
  if (Number.isInteger(length) && length! >= 1 && length! <= tokensMax) {
    return length!;
  }
  throw new RangeError(
    `A node of ragged cell "${cell.name}" has 1 to ${tokensMax} tokens, got ${length}`,
  );
}

/** A ragged node reads as many tokens as it has; another one reads one token. */
export function checkTokens(
  node: { readonly cell: Cell; readonly length: number },
  token: number | undefined,
  { port, cell, length }: Reader,
): void {
  const from = node.cell.tokensMax === undefined ? undefined : node.length;
  const whole = token === undefined;
  const fits = cell.tokensMax !== undefined
    ? whole && from === length
    : from === undefined
    ? whole
    : !whole && Number.isInteger(token) && token >= 0 && token < from;
  if (fits) return;
  throw new RangeError(
    `Input "${port.name}" of cell "${cell.name}" takes ${
      cell.tokensMax === undefined ? "one row" : `${length} tokens`
    }, got ${whole ? "all" : `token ${token} of`} ${
      from === undefined ? "of a single row" : `${from} tokens`
    }`,
  );
}

/** What a node of a cell does with the caches it is given. */
export function cacheUses<Node>(
  cell: Cell,
  caches: Readonly<Record<string, Cache<Node>>>,
  length: number,
): CacheUse<Node>[] {
  return cell.caches.map(({ name, keyWidth, valueWidth, appends }) => {
    const cache = caches[name];
    if (cache === undefined) {
      throw new TypeError(
        `A node of cell "${cell.name}" lacks its cache "${name}"`,
      );
    }
    if (cache.keyWidth !== keyWidth || cache.valueWidth !== valueWidth) {
      throw new TypeError(
        `Cache "${name}" of cell "${cell.name}" holds keys of ${keyWidth} and values of ${valueWidth}, ` +
          `got ${cache.keyWidth} and ${cache.valueWidth}`,
      );
    }
    const position = cache.filled;
    const seen = appends ? position + length : position;
    if (seen === 0) {
      throw new RangeError(
        `A node of cell "${cell.name}" reads cache "${name}", to which nobody has appended`,
      );
    }
    if (seen > cache.positions) {
      throw new RangeError(
        `Cache "${name}" of cell "${cell.name}" has room for ${cache.positions} positions, ` +
          `a node would fill ${seen}`,
      );
    }
    return { cache, position, seen };
  });
}

/** Beyond its data a row would read what happens to lie behind them. */
export function checkIndex(
  { data, index, width }: {
    readonly data: { readonly data: TensorData };
    readonly index: number;
    readonly width: number;
  },
  { port, cell, length }: Reader,
): void {
  const rows = data.data.length / width;
  if (index >= 0 && index + length <= rows && Number.isInteger(index)) return;
  throw new RangeError(
    `Input "${port.name}" of cell "${cell.name}" is row ${index} of data that hold ${
      Math.floor(rows)
    }`,
  );
}
