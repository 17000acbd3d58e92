/** Broadcasting of sizes (ONNX's "multidirectional", NumPy's). */
import { type Dim, isSameDim, leastOf, maxDims } from "./dim.ts";
import type { NodeView } from "./node_view.ts";
import { describeDims } from "./value.ts";

/**
 * Shape of what is computed of inputs element by element; null where the number of axes of one is not known.
 * Of two sizes that are not known one is 1 or both are the same, so that it is the larger one.
 * @throws OnnxError when sizes do not fit
 */
export function broadcastDims(
  shapes: readonly (readonly Dim[] | null)[],
  view: Pick<NodeView, "place" | "unknown">,
): readonly Dim[] | null {
  let result: readonly Dim[] = [];
  for (const shape of shapes) {
    if (shape === null) return null;
    const rank = Math.max(result.length, shape.length);
    const [a, b] = [result, shape].map((dims) => aligned(dims, rank));
    result = a.map((size, axis) => {
      const one = oneOf(size, b[axis]);
      if (one === "misfit") {
        view.place.fail(
          `shapes ${
            shapes.map((dims) => describeDims(dims)).join(" and ")
          } do not fit`,
        );
      }
      return one ?? view.unknown(axis);
    });
  }
  return result;
}

function aligned(dims: readonly Dim[], rank: number): readonly Dim[] {
  return [...Array<Dim>(rank - dims.length).fill(1), ...dims];
}

/** @returns undefined where it is not known */
function oneOf(a: Dim, b: Dim): Dim | "misfit" | undefined {
  if (isSameDim(a, b) || b === 1) return a;
  if (a === 1) return b;
  if (typeof a === "number") return typeof b === "number" ? "misfit" : a;
  if (typeof b === "number") return b;
  // The larger one, unless one may be 0 where the other is 1.
  return leastOf(a) >= 1 && leastOf(b) >= 1 ? maxDims(a, b) : undefined;
}

/**
 * A size that two values have to have in common: the one that is a number, if any.
 * @returns undefined where they are different numbers
 */
export function commonDim(a: Dim, b: Dim): Dim | undefined {
  if (typeof a !== "number") return typeof b === "number" ? b : a;
  return typeof b === "number" && a !== b ? undefined : a;
}
