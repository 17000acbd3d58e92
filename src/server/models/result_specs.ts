import { CellGraph } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import { axesOf } from "../../graph/row_layout.ts";
import type { Dtype } from "../../tensor/tensor.ts";
import type { TensorSpec } from "../host/served_model.ts";
import type { ServedOptions } from "./served_options.ts";
import { wireType } from "./wire_type.ts";

/**
 * What a model's requests result in, as one of them tells that is unfolded and not run.
 * @param input of the smallest request; sizes that depend on it are those of axes with a row each for steps or tokens
 */
export function resultSpecs(
  model: Model,
  input: unknown,
  options: ServedOptions,
): TensorSpec[] {
  model.check(input);
  const graph = new CellGraph(model);
  model.unfold(input, graph);
  return [...graph.results].map(
    ([name, { port, collected, axis, sources }]) => {
      const { node, token } = sources[0];
      const isList = collected ||
        token === undefined && node.cell.tokensMax !== undefined;
      const isScalar = port.shape === undefined && port.dtype === "i32" &&
        port.width === 1;
      const sizes = isScalar ? [] : axesOf(port);
      return {
        name,
        datatype: wireType(name, port.dtype as Dtype, options),
        shape: !isList
          ? sizes
          : axis === undefined
          ? [-1, ...sizes]
          : sizes.with(axis, -1),
      };
    },
  );
}
