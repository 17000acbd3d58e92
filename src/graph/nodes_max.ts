/** How many nodes the graph of a request may have. */
import { describe, shorten } from "../base/describe.ts";

/** Of a model that does not say: far more than any request should take, far less than a process has room for. */
export const NODES_MAX_DEFAULT = 2 ** 20;

/** Nobody's graphs are larger: sets and maps of nodes hold 2^24 entries and less. */
export const NODES_MAX_CEILING = 2 ** 24 - 2;

/** @throws RangeError when the model's own limit is none */
export function nodesMaxOf(
  { name, nodesMax = NODES_MAX_DEFAULT }: {
    readonly name: string;
    readonly nodesMax?: number;
  },
): number {
  if (
    !Number.isInteger(nodesMax) || nodesMax < 1 || nodesMax > NODES_MAX_CEILING
  ) {
    throw new RangeError(
      `"nodesMax" of model "${
        shorten(name)
      }" is an integer from 1 to ${NODES_MAX_CEILING}, got ${
        describe(nodesMax)
      }`,
    );
  }
  return nodesMax;
}

/** The `nodesMax` of a model whose other limits allow for `nodes` nodes at most. */
export function nodesMaxFor(nodes: number): number {
  return Math.min(NODES_MAX_CEILING, Math.max(NODES_MAX_DEFAULT, nodes));
}
