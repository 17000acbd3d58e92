/**
 * Sequences of tensors, as exporters write `unbind`, `chunk` and `split`: where it is known when the file is loaded
 * which tensors are in one, those who read it read these, and there is no sequence any more.
 */
import { numbersOf } from "../../tensor/plain_tensor.ts";
import { scalarOf } from "../shapes/value.ts";
import type { Expand, Expansion } from "./expansion.ts";

/** Tensors of a sequence: every operator on it has a list of them. */
const TENSORS_MAX = 4096;

/** Hands on a sequence of values of these names. */
function hand(given: Expansion, tensors: readonly string[]): void {
  const { length } = tensors;
  given.refuse(length > TENSORS_MAX, `a sequence of ${length} tensors`);
  given.sequences.set(given.node.outputs[0], tensors);
}

/** The tensors of input 0. @throws OnnxError where they are not known */
function tensorsOf(given: Expansion): readonly string[] {
  return given.value(0).tensors ??
    given.place.fail(
      `which tensors are in ${
        JSON.stringify(given.input(0))
      } is not known before a request is there`,
    );
}

/**
 * A place in a sequence of `length`, by input `i`; negative ones count from its end.
 * @param most the last place
 * @throws OnnxError where it is none, or not known
 */
function placeOf(
  given: Expansion,
  i: number,
  length: number,
  most = length - 1,
): number {
  const place = scalarOf(given.value(i)) ??
    given.place.fail(
      "the place in the sequence depends on values; it has to be known when the file is loaded",
    );
  if (place < -length || place > most) {
    given.place.fail(
      `place ${place} is none in a sequence of ${length} tensors`,
    );
  }
  return place < 0 ? place + length : place;
}

/** Sizes of the parts that an axis is split into: those of input 1, which is one for all or a list, or 1. */
function partSizes(given: Expansion, size: number): number[] {
  const { constant } = given.has(1) ? given.value(1) : {};
  if (given.has(1) && constant === undefined) {
    return given.place.fail(
      "sizes of the parts depend on values; they have to be known when the file is loaded",
    );
  }
  const numbers = constant ? numbersOf(constant) : [1];
  if (constant !== undefined && constant.dims.length > 0) return [...numbers];
  const [each] = numbers;
  if (!(each >= 1)) given.place.fail(`parts of ${each} have no end`);
  const count = Math.ceil(size / each);
  given.refuse(count > TENSORS_MAX, `a sequence of ${count} tensors`);
  return Array.from(
    { length: count },
    (_, i) => Math.min(each, size - i * each),
  );
}

const split: Expand = (given) => {
  const axis = given.int("axis");
  const rank = given.dims(0).length;
  if (axis < -rank || axis >= rank) {
    given.place.fail(`axis ${axis} is none of ${rank}`);
  }
  const sizes = partSizes(given, given.size(0, axis));
  given.refuse(
    sizes.length > TENSORS_MAX,
    `a sequence of ${sizes.length} tensors`,
  );
  const parts = sizes.length === 0 ? [] : given.several(
    "Split",
    [given.input(0), given.whole(...sizes)],
    { axis },
    given.fresh(sizes.length),
  );
  const isKept = given.has(1) || given.int("keepdims", 1) !== 0;
  hand(
    given,
    isKept
      ? parts
      : parts.map((part) => given.add("Squeeze", [part, given.whole(axis)])),
  );
};

const insert: Expand = (given) => {
  const tensors = tensorsOf(given);
  const { length } = tensors;
  // Behind the last one is a place, too.
  const at = given.has(2) ? placeOf(given, 2, length, length) : length;
  hand(given, tensors.toSpliced(at, 0, given.input(1)));
};

const erase: Expand = (given) => {
  const tensors = tensorsOf(given);
  const { length } = tensors;
  if (length === 0) given.place.fail("the sequence is empty");
  const at = given.has(1) ? placeOf(given, 1, length) : length - 1;
  hand(given, tensors.toSpliced(at, 1));
};

const at: Expand = (given) => {
  const tensors = tensorsOf(given);
  const name = tensors[placeOf(given, 1, tensors.length)];
  given.add("Identity", [name], {}, given.node.outputs[0]);
};

const length: Expand = (given) => {
  const count = given.wholeNumber(tensorsOf(given).length);
  given.add("Identity", [count], {}, given.node.outputs[0]);
};

const concat: Expand = (given) => {
  const tensors = tensorsOf(given);
  if (tensors.length === 0) given.place.fail("the sequence is empty");
  const axis = given.int("axis");
  const parts = given.int("new_axis") === 0
    ? tensors
    : tensors.map((name) => given.add("Unsqueeze", [name, given.whole(axis)]));
  given.add("Concat", parts, { axis }, given.node.outputs[0]);
};

export const TENSOR_SEQUENCES: Readonly<Record<string, Expand>> = {
  SequenceEmpty: (given) => hand(given, []),
  SequenceConstruct: (given) => hand(given, given.node.inputs),
  SplitToSequence: split,
  SequenceInsert: insert,
  SequenceErase: erase,
  SequenceAt: at,
  SequenceLength: length,
  ConcatFromSequence: concat,
};
