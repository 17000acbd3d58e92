/** Characters of a value that an error message repeats. */
const SHOWN = 200;

/** A value as an error message names it: as JSON, cut where it gets long, whatever it is. */
export function quoted(value: unknown): string {
  let text: string | undefined;
  try {
    text = typeof value === "number" || typeof value === "bigint"
      ? String(value)
      : JSON.stringify(value);
  } catch {
    // Circular, or nested too deep: what it is must do.
    text = Object.prototype.toString.call(value);
  }
  return shortened(text ?? String(value));
}

/** A text as an error message repeats it: cut where it gets long. */
export function shortened(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
