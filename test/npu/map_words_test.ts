/** Words of feature maps that output rows need, against counting the positions one by one. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { type MapWindow, mapWords } from "../../src/npu/layer_spec.ts";
import { propertyRuns } from "../property_runs.ts";

/** Positions that the windows of the first `rows` output rows, counted through the images, lie on. */
function counted(map: MapWindow, rows: number): number {
  const touched = new Set<string>();
  for (let row = 0; row < rows; row++) {
    const image = Math.floor(row / map.outputH);
    const top = (row % map.outputH) * map.strideH;
    for (let column = 0; column < map.outputW; column++) {
      const left = column * map.strideW;
      for (let y = top; y < top + map.filterH; y++) {
        for (let x = left; x < left + map.filterW; x++) {
          if (y < map.height && x < map.width) {
            touched.add(`${image} ${y} ${x}`);
          }
        }
      }
    }
  }
  return touched.size;
}

/**
 * A side of a map: its size, window and stride, and as many windows as fit. The last one may hang over an edge, on
 * padding that is not stored; where windows lie apart that is not looked at, so there they do not.
 */
const side = fc.record({
  filter: fc.integer({ min: 1, max: 4 }),
  stride: fc.integer({ min: 1, max: 5 }),
  outputs: fc.integer({ min: 1, max: 5 }),
  behind: fc.integer({ min: -1, max: 3 }),
}).map(({ filter, stride, outputs, behind }) => ({
  filter,
  stride,
  outputs,
  size: Math.max(
    1,
    (outputs - 1) * stride + filter +
      (stride > filter ? Math.max(0, behind) : behind),
  ),
}));

Deno.test("mapWords() counts the pixels that windows lie on, each once", () => {
  fc.assert(
    fc.property(
      side,
      side,
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 3 }),
      fc.nat(14),
      (down, right, batch, channels, rowsLeft) => {
        const map: MapWindow = {
          batch,
          channels,
          height: down.size,
          width: right.size,
          filterH: down.filter,
          filterW: right.filter,
          strideH: down.stride,
          strideW: right.stride,
          outputH: down.outputs,
          outputW: right.outputs,
        };
        const rows = Math.max(1, batch * map.outputH - rowsLeft);
        assert.equal(
          mapWords(map, rows, channels),
          channels * counted(map, rows),
        );
      },
    ),
    { numRuns: propertyRuns(500) },
  );
});
