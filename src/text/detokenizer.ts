/**
 * Text of ids that come one by one. A token's text depends on what is in front of it (spaces between words, the bytes of
 * a character): it is what the text of a few tokens gains by it. A character of which bytes are missing waits for them,
 * and bytes that are none until there is a character behind them.
 * Source: the two offsets of text generation servers (Hugging Face TGI, `decode_token`).
 */

/** What decoders write for bytes that are no character, or not yet. */
const REPLACEMENT = "\uFFFD";

/** Makes text of tokens as they come: `TextTokenizer.detokenizer`. All it returns, in order, is the text of all ids. */
export class Detokenizer {
  readonly #decode: (ids: readonly number[]) => string;
  /** The last tokens: those that were told, for what is in front, and those that were not. */
  #ids: number[] = [];
  /** How many of them were told. */
  #told = 0;

  /**
   * Use `TextTokenizer.detokenizer`.
   * @internal
   */
  constructor(
    decode: (ids: readonly number[]) => string,
    context: readonly number[],
  ) {
    this.#decode = decode;
    this.#ids = [...context];
    this.#told = context.length;
  }

  /** The text that is certain with one more id; often it is empty. */
  push(id: number): string {
    this.#ids.push(id);
    const text = this.#gained();
    if (text === "" || text.endsWith(REPLACEMENT)) return "";
    this.#tell();
    return text;
  }

  /** The text that is left when no more ids come. */
  end(): string {
    const text = this.#gained();
    this.#tell();
    return text;
  }

  #gained(): string {
    const before = this.#decode(this.#ids.slice(0, this.#told));
    const whole = this.#decode(this.#ids);
    let same = 0;
    // Not all of it, where what is in front ended amid a character.
    while (same < before.length && before[same] === whole[same]) same++;
    return whole.slice(same);
  }

  /** What was told now is what the next tokens are seen behind. */
  #tell(): void {
    this.#ids = this.#ids.slice(this.#told);
    this.#told = this.#ids.length;
  }
}
