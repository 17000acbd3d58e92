/** A request whose texts go to the engine one by one: what each cost, and whoever hears of it. */
import { wallNs } from "../../engine/wall/clock.ts";
import { NS_PER_MS } from "../../base/units.ts";
import type { RunText } from "../../text/run_texts.ts";
import type { TextResult } from "../../text/text_results.ts";
import type { HostRunOptions } from "../host/run_options.ts";
import type { Context } from "../http/route.ts";
import type { TextCost } from "../http/text_observer.ts";
import type { ServedText } from "./served_text.ts";
import { asInputError, textRunners } from "./text_request.ts";

/** A request whose body was read. */
export interface TextsAsked<Result extends TextResult> {
  /** Whether it is a list of texts, of whatever length. */
  readonly isBatch: boolean;
  /** Its model. @throws what is wrong with the request */
  find(): ServedText;
  /** What is done with the texts, a result each. */
  run(
    served: ServedText,
    run: RunText<HostRunOptions>,
  ): Promise<readonly Result[]>;
  /**
   * @param costs of every text
   * @param totalNs nanoseconds since its body was read, as of the first call
   */
  answer(
    results: readonly Result[],
    costs: readonly TextCost[],
    totalNs: () => number,
  ): Response;
}

/** @throws InputError, what `find` throws, and the host's errors */
export async function answerTexts<Result extends TextResult>(
  context: Context,
  asked: TextsAsked<Result>,
): Promise<Response> {
  const startNs = wallNs();
  let tookNs: number | undefined;
  // Read once: what the answer says is what observers hear.
  const totalNs = () => tookNs ??= wallNs() - startNs;
  const ended = context.texts?.began(asked.isBatch);
  const times: { queueNs: number; inferenceNs: number }[] = [];
  let tokenizedNs = startNs;
  try {
    const served = asked.find();
    const runners = textRunners(context, served);
    const results = await asked.run(served, async (input, options) => {
      const index = times.length;
      const arrivalNs = wallNs();
      // All texts are encoded before the first one goes to the engine.
      if (index === 0) tokenizedNs = arrivalNs;
      times.push({ queueNs: 0, inferenceNs: 0 });
      const result = await runners.run(input, options);
      const inferenceNs = result.timing.ranMs * NS_PER_MS;
      const queueNs = Math.max(0, wallNs() - arrivalNs - inferenceNs);
      times[index] = { queueNs, inferenceNs };
      return result;
    }).catch((error) => {
      throw asInputError(error);
    });
    const costs = results.map(({ tokens }, i) => ({
      tokens,
      tokenizationNs: (tokenizedNs - startNs) / results.length,
      ...times[i],
    }));
    const response = asked.answer(results, costs, totalNs);
    ended?.({ costs, totalNs: totalNs() });
    return response;
  } catch (error) {
    ended?.({ error, isEncoded: times.length > 0 });
    throw error;
  }
}
