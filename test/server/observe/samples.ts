/** Samples of Prometheus' text format. */

/** Values of all samples of a name, by their labels as they are written. */
export function samples(text: string, name: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const line of text.split("\n")) {
    const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match?.[1] === name) found[match[2] ?? ""] = Number(match[3]);
  }
  return found;
}
