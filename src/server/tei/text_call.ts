/** A request to a model of texts: the texts go to the engine one by one, what they cost goes into the answer's headers. */
import type { PromptedOptions, TextOptions } from "../../text/text_options.ts";
import type { TextResult } from "../../text/text_results.ts";
import type { RunText } from "../../text/run_texts.ts";
import type { HostRunOptions } from "../host/run_options.ts";
import type { ServedKind } from "../host/served_model.ts";
import { jsonResponse } from "../http/respond.ts";
import type { Context } from "../http/route.ts";
import { answerTexts } from "../texts/answer_texts.ts";
import { namedText, onlyText, type ServedText } from "../texts/served_text.ts";
import { charactersOf, computeHeaders } from "./compute_headers.ts";
import { checkBatch, type TextInput, type TextOrPair } from "./inputs.ts";
import type { TruncationDirection } from "./requests.ts";

/** Most texts of a request, where the model's configuration does not say. */
const BATCH_SIZE_MAX = 32;

/** A model's limits and habits as this protocol has them. */
export interface TeiSettings {
  readonly batchSizeMax: number;
  /** Whether texts that are too long are cut where the request does not say. */
  readonly autoTruncate: boolean;
}

/** Of its configuration: `max_client_batch_size` and `auto_truncate`. */
export function settingsOf({ config }: ServedText): TeiSettings {
  const { max_client_batch_size: most, auto_truncate: cuts } = config;
  return {
    batchSizeMax: typeof most === "number" ? most : BATCH_SIZE_MAX,
    autoTruncate: cuts !== false,
  };
}

/** The model that a path names, or the only one of one of the kinds. */
export function textOf(
  { host, params, url }: Context,
  kinds: readonly ServedKind[],
): ServedText {
  const name = params["model"];
  return name === undefined
    ? onlyText(host, kinds, url.pathname)
    : namedText(host, name, kinds);
}

/** What requests have in common. */
interface CommonFields {
  readonly truncate?: boolean | undefined;
  readonly truncation_direction: TruncationDirection;
}

/** Of a request that may name a prompt. */
export function promptOption(
  { prompt_name: promptName }: { readonly prompt_name?: string | undefined },
): Pick<PromptedOptions, "promptName"> {
  return promptName === undefined ? {} : { promptName };
}

/** Of any request. */
export function textOptions(
  context: Context,
  served: ServedText,
  fields: CommonFields,
): TextOptions<HostRunOptions> {
  return {
    request: { signal: context.signal },
    truncate: fields.truncate ?? settingsOf(served).autoTruncate,
    truncationSide: fields.truncation_direction,
  };
}

/** A request as it was read. */
interface Asked {
  /** What its model has to be. */
  readonly kinds: readonly ServedKind[];
  /** Whether its texts are a list, of whatever length. */
  readonly isBatch: boolean;
  /** What the field of its texts is called. */
  readonly field: string;
  /** What the field has. */
  readonly given: readonly TextOrPair[] | readonly TextInput[];
  /** What is run, where it is not what the field has. */
  readonly texts?: readonly (TextInput | TextOrPair)[];
  /** Texts in other fields that count as well. Default 0. */
  readonly besides?: number;
}

/**
 * Runs texts and answers with what they come to.
 * @param run what is done with them, a result each
 * @param form the body, of all results
 * @throws InputError, and the host's errors
 */
export async function answered<Result extends TextResult>(
  context: Context,
  { kinds, isBatch, field, given, texts = given, besides = 0 }: Asked,
  run: (
    served: ServedText,
    run: RunText<HostRunOptions>,
  ) => Promise<readonly Result[]>,
  form: (results: readonly Result[]) => unknown,
): Promise<Response> {
  return await answerTexts(context, {
    isBatch,
    find() {
      const served = textOf(context, kinds);
      checkBatch(field, given, settingsOf(served).batchSizeMax - besides);
      return served;
    },
    run,
    answer(results, costs, totalNs) {
      const characters = charactersIn(texts);
      const response = jsonResponse(form(results));
      const headers = computeHeaders(
        costs.map((cost, i) => ({ ...cost, characters: characters[i] })),
        totalNs(),
      );
      for (const [name, value] of Object.entries(headers)) {
        response.headers.set(name, value);
      }
      return response;
    },
  });
}

/** Characters of inputs; ids count as one each. */
function charactersIn(
  inputs: readonly (TextInput | TextOrPair)[],
): number[] {
  return inputs.map((input) =>
    typeof input === "string" ? charactersOf(input) : input.reduce<number>(
      (sum, part) => sum + (typeof part === "string" ? charactersOf(part) : 1),
      0,
    )
  );
}
