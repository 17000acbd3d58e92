/**
 * Server-sent events as far as a load generator listens: when each one came, and whether it was an error. OpenAI's
 * last one, `[DONE]`, is none. Source: HTML Living Standard, 9.2.6 "Interpreting an event stream".
 */
export class EventReader {
  /** When each event came that is not the end. */
  readonly eventsNs: number[] = [];
  /** What the first event that is an error said. */
  error: string | undefined;
  readonly #decoder = new TextDecoder();
  #rest = "";
  #data: string[] = [];
  #name = "";

  /** Takes what came at a time. */
  push(bytes: Uint8Array, atNs: number): void {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    // A carriage return at the end may be half of a line's end.
    const lines = this.#rest.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop()!;
    for (const line of lines) this.#line(line, atNs);
  }

  #line(line: string, atNs: number): void {
    if (line === "") return this.#dispatch(atNs);
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#name = value;
  }

  #dispatch(atNs: number): void {
    const data = this.#data.join("\n");
    const hasData = this.#data.length > 0;
    const name = this.#name;
    this.#data = [];
    this.#name = "";
    if (!hasData) return;
    if (data === "[DONE]") return;
    if (name === "error" || /^\s*\{\s*"error"\s*:/.test(data)) {
      this.error ??= data.slice(0, 200);
      return;
    }
    this.eventsNs.push(atNs);
  }
}
