/** What is the same for all of a model while it is read. */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { quoted } from "../place.ts";
import type { ExternalData } from "./external_data.ts";
import { FieldBudget } from "../../base/proto_message.ts";

/** Graphs inside graphs; exporters nest two or three. */
export const NESTING_MAX = 32;

/** What a model's parts are read with. */
export class ReadContext {
  readonly budget = new FieldBudget();
  readonly #taken = new Map<string, { first: string; count: number }>();

  constructor(readonly external: ExternalData) {}

  /** Remembers that a tensor or value is not what the file says. */
  takenAs(from: string, to: PlainTensor["type"], name: string): void {
    const key = `${from} as ${to}`;
    const found = this.#taken.get(key);
    if (found === undefined) this.#taken.set(key, { first: name, count: 1 });
    else found.count++;
  }

  /** One sentence for each kind of these. */
  notes(): string[] {
    return [...this.#taken].map(([what, { first, count }]) =>
      `${count === 1 ? "1 tensor or value" : `${count} tensors and values`} ` +
      `of ${what}, the first ${quoted(first)}`
    );
  }
}
