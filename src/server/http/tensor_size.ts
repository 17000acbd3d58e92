/**
 * Sizes that a request names, before anything is allocated for them (triton-inference-server/server#5840: shapes whose
 * product overflows; negative sizes).
 */
import { describe, isList } from "../../base/describe.ts";
import { HttpError } from "./http_error.ts";

/** Sizes of one shape. */
const RANK_MAX = 32;

/**
 * Elements of a tensor of a shape, which is a list of anything.
 * @param name the tensor's, for messages
 * @param bytesPerElement of its type; those of which elements say their length have at least 1
 * @throws HttpError 400 on a shape that is none, 413 when the tensor would take more than `bytesMax`
 */
export function elementsOf(
  name: string,
  shape: unknown,
  bytesPerElement: number,
  bytesMax: number,
): number {
  if (!isList(shape) || shape.length > RANK_MAX) {
    throw new HttpError(
      400,
      `"shape" of ${describe(name)} is a list of at most ${RANK_MAX} sizes`,
    );
  }
  let elements = 1;
  let isEmpty = false;
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || (size as number) < 0) {
      throw new HttpError(
        400,
        `"shape" of ${
          describe(name)
        } lists sizes, which are integers of at least 0, got ${describe(size)}`,
      );
    }
    // What is left out here is multiplied by nothing: [0, 2 ** 53 - 1, 2 ** 53 - 1] has no elements.
    if (size === 0) isEmpty = true;
    else elements *= size as number;
  }
  // Products beyond 2^53 are rounded, and still far beyond any limit.
  const bytes = isEmpty ? 0 : elements * bytesPerElement;
  if (bytes > bytesMax) {
    throw new HttpError(
      413,
      `tensor ${describe(name)} of shape ${
        describe(shape)
      } has more than ${bytesMax} bytes`,
    );
  }
  return isEmpty ? 0 : elements;
}
