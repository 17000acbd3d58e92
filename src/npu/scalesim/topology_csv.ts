/**
 * Reads SCALE-Sim's topology files. Two forms, told apart by the header line:
 *
 *     Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
 *     Layer, M, N, K,
 *
 * The convolution form may give the stride twice (height, width). A trailing comma is allowed. A layer
 * whose name contains "DP" is depthwise, as in the tool: one 1-channel layer per channel.
 * Later versions' sparsity column (e.g. `1:2`) is refused: sparsity is not modelled.
 */
import type { ConvGeometry } from "../conv_geometry.ts";
import { convLayer, gemmLayer, type ScaleSimLayer } from "./layer.ts";

const CONV_COLUMNS = [
  "ifmapH",
  "ifmapW",
  "filterH",
  "filterW",
  "channelsIn",
  "channelsOut",
  "strideH",
  "strideW",
] as const;
const GEMM_COLUMNS = ["m", "n", "k"] as const;

/** A topology layer; `copies` counts the identical one-channel layers of a depthwise one. */
export interface TopologyLayer extends ScaleSimLayer {
  copies: number;
}

/** Throws a RangeError naming file, line and column. */
export function parseTopology(text: string, file: string): TopologyLayer[] {
  const lines = text.split(/\r?\n/);
  const isGemm = /^[^,]*,\s*M\s*,\s*N\s*,\s*K\s*(,|$)/i.test(lines[0] ?? "");
  const layers: TopologyLayer[] = [];
  lines.forEach((line, index) => {
    if (index === 0 || line.trim() === "") return;
    const where = `${file}:${index + 1}`;
    const fields = line.split(",").map((field) => field.trim());
    if (fields[fields.length - 1] === "") fields.pop();
    layers.push(isGemm ? readGemm(fields, where) : readConv(fields, where));
  });
  if (layers.length === 0) {
    throw new RangeError(`${file}: no layers after the header line`);
  }
  return layers;
}

function readGemm(fields: string[], where: string): TopologyLayer {
  const [m, n, k] = readNumbers(fields, {
    columns: GEMM_COLUMNS,
    needed: 3,
    where,
  });
  return { ...gemmLayer(fields[0], { m, n, k }), copies: 1 };
}

function readConv(fields: string[], where: string): TopologyLayer {
  const values = readNumbers(fields, {
    columns: CONV_COLUMNS,
    needed: 7,
    where,
  });
  if (values.length === 7) values.push(values[6]);
  const geometry = Object.fromEntries(
    CONV_COLUMNS.map((column, i) => [column, values[i]]),
  ) as unknown as ConvGeometry;
  if (
    geometry.filterH > geometry.ifmapH || geometry.filterW > geometry.ifmapW
  ) {
    const column = geometry.filterH > geometry.ifmapH ? "filterH" : "filterW";
    throw new RangeError(
      `${where}: column ${
        CONV_COLUMNS.indexOf(column) + 2
      } (${column}): filter ` +
        `${geometry.filterH}x${geometry.filterW} is larger than its input ` +
        `${geometry.ifmapH}x${geometry.ifmapW}; give the input size with padding included`,
    );
  }
  const depthwise = fields[0].includes("DP");
  const copies = depthwise ? geometry.channelsIn : 1;
  return {
    ...convLayer(
      fields[0],
      depthwise ? { ...geometry, channelsIn: 1 } : geometry,
    ),
    copies,
  };
}

function readNumbers(
  fields: string[],
  { columns, needed, where }: {
    columns: readonly string[];
    needed: number;
    where: string;
  },
): number[] {
  if (fields.length - 1 < needed) {
    throw new RangeError(
      `${where}: column ${fields.length + 1} (${
        columns[fields.length - 1]
      }) is missing; ` +
        `a line is: name, ${columns.slice(0, needed).join(", ")}`,
    );
  }
  if (fields.length - 1 > columns.length) {
    throw new RangeError(
      `${where}: column ${columns.length + 2} is one too many ("${
        fields[columns.length + 1]
      }"); ` +
        `a line is: name, ${columns.join(", ")}`,
    );
  }
  return fields.slice(1).map((field, i) => {
    const value = /^[+-]?\d+$/.test(field) ? Number(field) : NaN;
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(
        `${where}: column ${i + 2} (${
          columns[i]
        }) must be an integer of at least 1, got "${field}"`,
      );
    }
    return value;
  });
}
