/** A file of which one axis stays free, as a model that takes requests of every length. */
import type { CellGraph } from "../../graph/cell_graph.ts";
import {
  numbersOf,
  PLAIN_TYPE_OF,
  type PlainTensor,
} from "../../tensor/plain_tensor.ts";
import { elementCount } from "../../tensor/tensor.ts";
import type { Cell } from "../../graph/cell.ts";
import type { CellSize } from "../cuts.ts";
import { fuseParts } from "../fuse/fuse_parts.ts";
import {
  elementsOf,
  type InputSpec,
  lengthOf,
  type OnnxInput,
} from "../input_tensors.ts";
import type { OnnxModel } from "../ir.ts";
import { indexBounds } from "../index_bounds.ts";
import { knownValues } from "../known_value.ts";
import { dtypeOf, type LoweredGraph } from "../lower/lower_graph.ts";
import { type Place, quoted } from "../place.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import { describeDims } from "../shapes/value.ts";
import { findAttention } from "./attention_parts.ts";
import { type FreeAxis, freeAxisOf, sizesOfLength } from "./free_axis.ts";
import type { Group } from "./group.ts";
import { groupsOf } from "./groups.ts";
import { HostValues } from "./host_values.ts";
import { Masks } from "./masks.ts";
import { rolesOf } from "./roles.ts";
import { sequenceStops } from "./sequence_cells.ts";
import { checkSequence, unfoldSequence } from "./sequence_unfolding.ts";

/** What a model is made of. */
export interface SequenceModel {
  readonly cells: readonly Cell[];
  /** Graphs that became cells, each as one. */
  readonly lowered: readonly LoweredGraph[];
  readonly inputs: readonly InputSpec[];
  readonly results: readonly InputSpec[];
  readonly indexBounds: ReadonlyMap<string, number>;
  /** @throws RangeError when a request that has the right shapes masks positions, or reads rows that are not there */
  check(input: OnnxInput): void;
  unfold(input: OnnxInput, graph: CellGraph): void;
}

/**
 * @param model simplified, with the axis as a symbol
 * @param values what is known of all its values
 * @throws OnnxError naming the node for which positions are not by themselves
 */
export function sequenceModel(
  { graph: given }: OnnxModel,
  values: InferredValues,
  free: FreeAxis,
  { name, size }: { name: string; size: CellSize | undefined },
  place: Place,
): SequenceModel {
  const known = knownValues(values, new Map([[free.name, 2]]));
  const graph = fuseParts(given, known);
  const host = new HostValues(graph, values, free, place);
  const attentions = findAttention(graph, values, known, host);
  const masks = new Masks(host, place);
  const roles = rolesOf(graph, values, known, host, attentions, place);
  const groups = groupsOf(graph, values, roles, host, masks);
  checkLongest(groups.groups, host, place);
  const stops = sequenceStops(
    groups,
    roles.layers,
    { name, size, tokensMax: free.max },
    place,
  );
  const specOf = (value: string): InputSpec => {
    const inferred = values.get(value)!;
    const at = place.in(quoted(value));
    const dtype = inferred.type && dtypeOf(inferred.type);
    const shape = sizesOfLength(inferred, free, free.max);
    if (!dtype || !shape) {
      return at.fail(
        `it is ${inferred.type} of ${
          describeDims(inferred.dims)
        }, of which there are no rows`,
      );
    }
    const axis = freeAxisOf(inferred.dims, free);
    return {
      name: value,
      dtype,
      shape,
      ...(axis !== undefined && { free: { axis, name: free.name } }),
    };
  };
  const inputs = graph.inputs.map(({ name }) => specOf(name));
  const results = graph.outputs.map(({ name }) => specOf(name));
  for (const { name, shape, free } of results) {
    if (!free || elementCount(shape.slice(0, free.axis)) === 1) continue;
    place.in(`output ${quoted(name)}`).fail(({ sizes }) =>
      `rows of all positions lie one behind the other: ${
        quoted(free.name)
      } cannot stay free where another axis is in front of it; ` +
      `give its size instead, ${sizes(free.name)}`
    );
  }
  const plan = {
    ...{ name, values, free, stops },
    outputs: results.map(({ name, free }) => ({
      name,
      ...(free && { axis: free.axis }),
    })),
  };
  const request = (input: OnnxInput) => {
    const length = lengthOf(inputs, input);
    const given = (value: string) => tensorOf(inputs, input, value, length);
    return { values: host.of(given, length), length };
  };
  return {
    cells: stops.flatMap((stop) =>
      stop.kind === "group" ? stop.parts.map(({ cell }) => cell) : stop.cells
    ),
    lowered: stops.flatMap((stop) =>
      stop.kind === "group" ? [stop.lowered] : []
    ),
    inputs,
    results,
    indexBounds: indexBounds(graph, known),
    check(input) {
      const { values, length } = request(input);
      masks.check(values, length);
      checkSequence(plan, values, length);
    },
    unfold(input, cells) {
      const { values, length } = request(input);
      unfoldSequence(plan, values, length, cells);
    },
  };
}

/** @throws OnnxError when what requests bring along cannot be computed at the greatest length */
function checkLongest(
  groups: readonly Group[],
  host: HostValues,
  place: Place,
): void {
  const { free: { name, max } } = host;
  const values = host.sample(max, 0);
  for (const source of groups.flatMap(({ sources }) => sources)) {
    if (source.kind !== "data") continue;
    const { value, below } = source.data;
    try {
      let largest = 0;
      for (const each of numbersOf(values(value))) {
        largest = Math.max(largest, each);
      }
      if (below === undefined || largest < below) continue;
      throw new RangeError(`a table has ${below} rows, ${largest} is read`);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      place.in(`size ${quoted(name)}`).fail(
        `${max} are too many: ${error.message}`,
      );
    }
  }
}

/** An input as the tensor that it is in a request. */
function tensorOf(
  inputs: readonly InputSpec[],
  input: OnnxInput,
  name: string,
  length: number,
): PlainTensor {
  const { dtype, shape, free } = inputs.find((each) => each.name === name)!;
  const dims = free ? shape.with(free.axis, length) : shape;
  return {
    type: PLAIN_TYPE_OF[dtype],
    dims,
    data: elementsOf(input[name]),
  } as PlainTensor;
}
