import type { PlainTensor } from "../tensor/plain_tensor.ts";
import type { PlainInputs } from "./given.ts";
import type {
  PlainAttributes,
  PlainContext,
  PlainOperator,
} from "./operator.ts";

/**
 * Runs one operator that is at hand.
 * @param name for messages
 * @throws RangeError or TypeError naming operator and input or attribute when something does not fit
 */
export function runOperator(
  name: string,
  operator: PlainOperator,
  inputs: PlainInputs,
  attributes: PlainAttributes,
  context: PlainContext,
): PlainTensor[] {
  try {
    const data = inputs[operator.dataInput ?? 0];
    if (data && !operator.types.includes(data.type)) {
      throw new TypeError(
        `input ${operator.dataInput ?? 0} is ${data.type}, expected ${
          operator.types.join(" or ")
        }`,
      );
    }
    return operator.run(inputs, attributes, context);
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) {
      const Kind = error instanceof RangeError ? RangeError : TypeError;
      throw new Kind(`${name}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}
