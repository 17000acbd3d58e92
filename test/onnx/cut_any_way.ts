/** A file cut into cells in all the ways that there are, and run where it is small. */
import assert from "node:assert/strict";
import { CellError } from "../../src/engine/core/errors.ts";
import type { Model } from "../../src/graph/model.ts";
import { decoderModel } from "../../src/onnx/decoder/decoder_model.ts";
import type { InputSpec } from "../../src/onnx/input_tensors.ts";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { elementCount, elements } from "../../src/tensor/tensor.ts";
import { endings } from "../run_requests.ts";

/** Sizes given, one of them free, a decoder, or one that looks at what an encoder saw. */
export type Way = "fixed" | "free" | "decoder" | "seen";

/** What sizes are that inputs leave open. */
const OPEN_SIZE = 2;

/** The most of a size that is free, and of a decoder's positions. */
const SIZE_MAX = 4;

/** Bytes of requests that are run. */
const SLOT_BYTES = 2 ** 20;

/**
 * Cuts a file.
 * @param isRun whether requests of zeros are made
 * @returns the ways in which it became a model
 * @throws Error when it fails in another way than by an error that says where
 */
export function cutAnyWay(file: OnnxModel, isRun: boolean): Way[] {
  const { inputs } = file.graph;
  // Of a batch in front there is one.
  const names = inputs.flatMap(({ dims }) =>
    (dims ?? []).slice(1).filter((size) => typeof size === "string")
  );
  const [free] = names;
  const sizes = Object.fromEntries(names.map((name) => [name, OPEN_SIZE]));
  const ways: Way[] = [];
  const tried = (way: Way, made: () => Asked) => {
    try {
      const asked = made();
      if (isRun) run(asked);
      ways.push(way);
    } catch (error) {
      if (!(error instanceof OnnxError)) throw error;
    }
  };
  tried("fixed", () => zeros(onnxModel(file, { sizes })));
  if (free !== undefined) {
    const { [free]: _, ...others } = sizes;
    tried(
      "free",
      () =>
        zeros(
          onnxModel(file, { sizes: others, sizesMax: { [free]: SIZE_MAX } }),
        ),
    );
  }
  if (inputs.some(({ name }) => name.startsWith("past"))) {
    tried("decoder", () => ({
      model: decoderModel(file, { decoder: { positionsMax: SIZE_MAX } }),
      input: () => ({ tokens: [0, 1], maxSteps: 2 }),
    }));
    const seen = inputs.filter(({ name }) => name.includes("encoder"))
      .flatMap(({ dims }) => (dims ?? []).slice(1)).filter((size) =>
        typeof size === "string"
      );
    if (seen.length > 0) {
      tried("seen", () => {
        const model = decoderModel(file, {
          decoder: { positionsMax: SIZE_MAX },
          sizesMax: Object.fromEntries(seen.map((size) => [size, SIZE_MAX])),
        });
        const inputs = zeros(model).input();
        return {
          model,
          input: () => ({ tokens: [0, 1], maxSteps: 2, inputs }),
        };
      });
    }
  }
  return ways;
}

/** A model, and a request to it. */
interface Asked {
  readonly model: Model;
  readonly input: () => unknown;
}

function zeros(model: Model & { inputs: readonly InputSpec[] }): Asked {
  return {
    model,
    input: () =>
      Object.fromEntries(
        model.inputs.map(({ name, dtype, shape }) => [
          name,
          elements(dtype, elementCount(shape)),
        ]),
      ),
  };
}

/** Whether it has a result or an error of its own is all the same: elements, such as indices, may not fit. */
function run(asked: Asked): void {
  const input = asked.input();
  const model: Model = asked.model;
  try {
    model.check(input);
  } catch (error) {
    assert(error instanceof RangeError, `${error}`);
    return;
  }
  const [ended] = endings(model, [input], { slotBytes: SLOT_BYTES });
  if (ended instanceof Error) {
    assert(ended instanceof CellError, ended.stack);
  }
}
