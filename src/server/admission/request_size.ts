/**
 * How large a request is, in one figure that its cost follows: the elements that it brings, and the steps that it may
 * grow by. What an element costs is learned for each model.
 */

/** Names of inputs that say by how many steps a request may grow, at most. */
const STEPS = ["maxSteps", "maxTokens", "maxNewTokens"];

/** Objects inside each other that are looked through. */
const DEPTH_MAX = 4;

/** @returns elements of all arrays of an engine's input, and steps; at least 1 */
export function requestSize(input: unknown): number {
  return Math.max(1, elements(input, 0));
}

function elements(value: unknown, depth: number): number {
  if (ArrayBuffer.isView(value)) {
    return "length" in value ? value.length as number : value.byteLength;
  }
  if (Array.isArray(value)) {
    // Numbers do not have to be looked at one by one.
    if (value.length === 0 || typeof value[0] !== "object") return value.length;
    return depth === DEPTH_MAX
      ? value.length
      : value.reduce((sum, item) => sum + elements(item, depth + 1), 0);
  }
  if (typeof value !== "object" || value === null || depth === DEPTH_MAX) {
    return 0;
  }
  let sum = 0;
  for (const [name, field] of Object.entries(value)) {
    if (name === "shape") continue;
    sum += typeof field === "number"
      ? (STEPS.includes(name) && field > 0 && Number.isFinite(field)
        ? field
        : 0)
      : elements(field, depth + 1);
  }
  return sum;
}
