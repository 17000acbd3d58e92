/**
 * Where special tokens go around one text or two: what the post-processor of a tokenizer's file says, found by having it
 * process two stand-ins. Knowing the template before the text is what truncation needs, which leaves special tokens in.
 */

/** A place in a template: a special token, or all tokens of a text. */
export type Place =
  | { readonly kind: "special"; readonly id: number; readonly type: number }
  | { readonly kind: "text"; readonly pair: boolean; readonly type: number };

/** Puts special tokens around tokens; what `@huggingface/tokenizers` has. */
export type PostProcessor = (
  tokens: string[],
  pair: string[] | null,
  addSpecialTokens: boolean,
) => { tokens: string[]; token_type_ids?: number[] };

/** The post-processor as a file has it. */
interface WrittenProcessor {
  readonly type?: unknown;
  /** Of a sequence of them. */
  readonly processors?: readonly WrittenProcessor[];
}

/** Models behind it know of one type alone. Source: Hugging Face tokenizers, `RobertaProcessing`. */
function isOfOneType(written: WrittenProcessor | null | undefined): boolean {
  return written?.type === "RobertaProcessing" ||
    (written?.processors ?? []).some(isOfOneType);
}

/** No token of a file is one of these. */
const STAND_INS = ["\0first", "\0second"] as const;

/**
 * The template of one text, or of two.
 * @param written what the file says of the post-processor
 * @param idOf the id of a special token
 * @throws Error of the post-processor
 */
export function templateOf(
  process: PostProcessor | null,
  written: unknown,
  isPair: boolean,
  idOf: (token: string) => number,
): readonly Place[] {
  const [first, second] = STAND_INS;
  const { tokens, token_type_ids: types } = process?.(
    [first],
    isPair ? [second] : null,
    true,
  ) ?? { tokens: [first] };
  const isUntyped = isOfOneType(written as WrittenProcessor);
  const places = tokens.map((token, i): Place => {
    const type = isUntyped ? 0 : types?.[i] ?? 0;
    return token === first || token === second
      ? { kind: "text", pair: token === second, type }
      : { kind: "special", id: idOf(token), type };
  });
  // Byte-level processors know of one text alone; the second one follows it, as without any.
  if (isPair && !tokens.includes(second)) {
    places.push({ kind: "text", pair: true, type: isUntyped ? 0 : 1 });
  }
  return places;
}
