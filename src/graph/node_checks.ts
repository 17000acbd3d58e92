/** What a node may be given as lengths, tokens and caches; see CellGraph.node. */
import { DTYPES, holds } from "../tensor/tensor.ts";
import { describe, listed, shorten } from "../base/describe.ts";
import { Cache, type CacheUse } from "./cache.ts";
import type { Cell, Port } from "./cell.ts";
import { InputData } from "./input_data.ts";
import type { OutputTypes } from "./result.ts";
import { type RowType, sameLayout, shapeOf } from "./row_layout.ts";

/** What is known of a node that somebody reads. */
interface GivenNode {
  readonly index: number;
  readonly cell: Cell;
  readonly length: number;
}

/** A source as a model gives it: made by the graph, or by hand. */
interface GivenSource {
  readonly kind: unknown;
  readonly node?: GivenNode | undefined;
  readonly port?: unknown;
  readonly token?: unknown;
  readonly data?: unknown;
  readonly index?: unknown;
  readonly width?: unknown;
}

interface GivenGraph {
  readonly nodes: readonly GivenNode[];
}

/**
 * Whether a port may read a source: it is of this request's graph, of the port's type and width, and lies
 * within what it is taken from. What is not would be read from what happens to lie there.
 */
export function checkSource(
  source: unknown,
  graph: GivenGraph,
  port: Port,
  cell: Cell,
  length: number,
): void {
  const given = source as GivenSource | null;
  switch (given?.kind) {
    case "node": {
      const output = outputOf(given, graph);
      if (typeof output === "string") {
        throw new TypeError(`${inputOf(port, cell)} ${output}`);
      }
      if (!sameLayout(output, port)) {
        fail(port, cell, `${output.dtype}[${shapeOf(output)}]`);
      }
      checkTokens(given.node!, given.token, port, cell, length);
      return;
    }
    case "input":
      checkData(given, graph, port, cell, length);
      return;
    case "zeros": {
      const what = `zeros[${describe(given.width)}]`;
      if (given.width !== port.width || port.dtype === "q8") {
        fail(port, cell, what);
      }
      if (cell.tokensMax !== undefined) {
        throw new TypeError(
          `Input "${port.name}" of ragged cell "${cell.name}" cannot be ${what}`,
        );
      }
      return;
    }
    default:
      fail(port, cell, `${describe(source)}; see graph.output, id, row, zeros`);
  }
}

/** Whether rows of a result may be taken from a source. */
export function checkResult(
  name: unknown,
  source: unknown,
  graph: GivenGraph,
): void {
  if (typeof name !== "string") {
    throw new TypeError(`A result's name is a text, got ${describe(name)}`);
  }
  const what = `Result "${shorten(name)}"`;
  const given = source as GivenSource | null;
  if (given?.kind !== "node") {
    throw new TypeError(
      `${what} is an output of a node, got ${
        describe(source)
      }; see graph.output`,
    );
  }
  const output = outputOf(given, graph);
  if (typeof output === "string") throw new TypeError(`${what} ${output}`);
  if (output.dtype === "q8") {
    throw new TypeError(`${what} is quantised; DequantizeLinear it`);
  }
  const { node, token } = given;
  if (token === undefined) return;
  const isRagged = node!.cell.tokensMax !== undefined;
  if (!isRagged || !isIndex(token, node!.length)) {
    throw new RangeError(
      `${what} is token ${describe(token)} of ${
        isRagged ? `${node!.length} tokens` : "a single row"
      }`,
    );
  }
}

const UNDECLARED: readonly RowType[] = ["f32", "i32"];

/** Whether a model declares a result of that type, where it declares any. */
export function checkDeclared(
  name: string,
  dtype: RowType,
  model: { readonly name: string; readonly outputs?: OutputTypes },
): void {
  const { outputs } = model;
  if (outputs === undefined) {
    if (UNDECLARED.includes(dtype)) return;
    throw new TypeError(
      `Result "${shorten(name)}" of model "${
        shorten(model.name)
      }" is ${dtype}: results that are neither f32 nor i32 are declared in its "outputs"`,
    );
  }
  if (!Object.hasOwn(outputs, name)) {
    throw new TypeError(
      `Model "${shorten(model.name)}" declares no result "${
        shorten(name)
      }"; its "outputs" are ${listed(Object.keys(outputs))}`,
    );
  }
  if (outputs[name] !== dtype) {
    throw new TypeError(
      `Result "${shorten(name)}" of model "${
        shorten(model.name)
      }" is declared ${outputs[name]}, got ${dtype}`,
    );
  }
}

/** The output that a source names, of a node of this graph; or what is wrong with it. */
function outputOf(
  { node, port }: GivenSource,
  { nodes }: GivenGraph,
): Port | string {
  if (typeof node !== "object" || node === null) {
    return `is of a node, got ${describe(node)}`;
  }
  if (nodes[node.index] !== node) return "belongs to another request's graph";
  const { name, outputs } = node.cell;
  if (isIndex(port, outputs.length)) return outputs[port];
  return `is output ${
    describe(port)
  } of cell "${name}", which has ${outputs.length}`;
}

function checkData(
  { data, index, width }: GivenSource,
  graph: GivenGraph,
  port: Port,
  cell: Cell,
  length: number,
): void {
  if (!(data instanceof InputData)) {
    throw new TypeError(
      `${inputOf(port, cell)} is of data that graph.ids or rows brought, got ${
        describe(data)
      }`,
    );
  }
  if (data.graph !== graph) {
    throw new TypeError(
      `${
        inputOf(port, cell)
      } reads data of another request's graph: bring them for each request anew`,
    );
  }
  const isOfType = port.dtype !== "q8" && holds(port.dtype, data.data);
  if (width !== port.width || !isOfType) {
    const dtype = DTYPES.find((dtype) => holds(dtype, data.data));
    fail(port, cell, `${dtype}[${describe(width)}]`);
  }
  const rows = Math.floor(data.data.length / port.width);
  // Beyond its data a row would read what happens to lie behind them.
  if (isIndex(index, rows) && index + length <= rows) return;
  throw new RangeError(
    `${inputOf(port, cell)} is row ${
      describe(index)
    } of data that hold ${rows}`,
  );
}

function isIndex(value: unknown, below: number): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < below;
}

function inputOf(port: Port, cell: Cell): string {
  return `Input "${port.name}" of cell "${cell.name}"`;
}

function fail(port: Port, cell: Cell, got: string): never {
  throw new TypeError(
    `${inputOf(port, cell)} is ${port.dtype}[${shapeOf(port)}], got ${got}`,
  );
}

/** Tokens of a node; 1 of one that is not ragged. */
export function checkLength(cell: Cell, length: number | undefined): number {
  const { tokensMax } = cell;
  if (tokensMax === undefined) {
    if (length === undefined) return 1;
    throw new TypeError(
      `A node of cell "${cell.name}", which is not ragged, has a row, not ${
        describe(length)
      } tokens`,
    );
  }
  if (Number.isInteger(length) && length! >= 1 && length! <= tokensMax) {
    return length!;
  }
  throw new RangeError(
    `A node of ragged cell "${cell.name}" has 1 to ${tokensMax} tokens, got ${
      describe(length)
    }`,
  );
}

/** A ragged node reads as many tokens as it has; another one reads one token. */
function checkTokens(
  node: GivenNode,
  token: unknown,
  port: Port,
  cell: Cell,
  length: number,
): void {
  const from = node.cell.tokensMax === undefined ? undefined : node.length;
  const whole = token === undefined;
  const fits = cell.tokensMax !== undefined
    ? whole && from === length
    : from === undefined
    ? whole
    : isIndex(token, from);
  if (fits) return;
  throw new RangeError(
    `${inputOf(port, cell)} takes ${
      cell.tokensMax === undefined ? "one row" : `${length} tokens`
    }, got ${whole ? "all" : `token ${describe(token)} of`} ${
      from === undefined ? "of a single row" : `${from} tokens`
    }`,
  );
}

/** What a node of a cell does with the caches it is given. */
export function cacheUses<Node>(
  graph: object,
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
    if (!(cache instanceof Cache)) {
      throw new TypeError(
        `Cache "${name}" of cell "${cell.name}" is one that graph.cache made, got ${
          describe(cache)
        }`,
      );
    }
    if (cache.graph !== graph) {
      throw new TypeError(
        `Cache "${name}" of cell "${cell.name}" belongs to another request's graph`,
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
