/** On real time nobody waits long for company: windows, and targets until which policies wait, are cut. */
const WAIT_NS_MAX = 1e6;

/** A policy's options, with less time to wait. */
export function calmOptions(
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return mapped(
    options,
    (value, name) => /(Wait|window|sla)Ns$/.test(name) ? calm(value) : value,
  );
}

function calm(value: unknown): unknown {
  if (typeof value === "number") return Math.min(value, WAIT_NS_MAX);
  // Targets by model.
  return typeof value === "object" && value !== null
    ? mapped(value, calm)
    : value;
}

function mapped(
  values: object,
  of: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, of(value, name)]),
  );
}
