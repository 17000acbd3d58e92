/**
 * Reads SCALE-Sim's topology files. Two forms, told apart by the header line:
 *
 *     Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
 *     Layer, M, N, K,
 *
 * The convolution form may give the stride twice (height, width). Trailing commas are allowed. A layer
 * whose name contains "DP" is depthwise, as in the tool: one 1-channel layer per channel.
 * Version 3's sparsity column is read when it says dense (`1:1`) and refused otherwise: sparsity is not
 * modelled. Deviation: a column headed "Batch Size", which the tool takes for the stride's width, must be 1.
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
/** Of a convolution line: all but strideW. */
const CONV_COLUMNS_MIN = CONV_COLUMNS.length - 1;

/** A topology layer; `copies` counts the identical one-channel layers of a depthwise one. */
export interface TopologyLayer extends ScaleSimLayer {
  copies: number;
}

/** Throws a RangeError naming file, line and column. */
export function parseTopology(text: string, file: string): TopologyLayer[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const header = fieldsOf(lines[0]);
  const form = formOf(header, `${file}:1`);
  const batchColumn = header.findIndex((name) => /batch/i.test(name));
  const layers: TopologyLayer[] = [];
  lines.forEach((line, index) => {
    const where = `${file}:${index + 1}`;
    const fields = fieldsOf(line);
    if (index === 0 || fields.length === 0) return;
    dropBatch(fields, { column: batchColumn, where });
    dropSparsity(fields, where);
    const layer = form === "gemm"
      ? readGemm(fields, where)
      : readConv(fields, where);
    const { m, n, k } = layer.gemm;
    if (!Number.isSafeInteger(m * n * k)) {
      throw new RangeError(
        `${where}: ${m}x${n}x${k} are more than 2^53 multiplications`,
      );
    }
    layers.push(layer);
  });
  if (layers.length === 0) {
    throw new RangeError(`${file}: no layers after the header line`);
  }
  return layers;
}

/** The fields of a line up to its last that is not empty, or to a comment: the tool drops what is behind the last comma. */
function fieldsOf(line: string): string[] {
  const fields = line.replace(/,\s*#.*$/, "").split(",")
    .map((field) => field.trim());
  while (fields.length > 0 && fields[fields.length - 1] === "") fields.pop();
  return fields;
}

function formOf(header: readonly string[], where: string): "gemm" | "conv" {
  const names = header.slice(1).map((name) => name.toLowerCase());
  if (GEMM_COLUMNS.every((column, i) => names[i] === column)) return "gemm";
  const isLayer = names.length > 0 && names.every((name) => /^\d/.test(name));
  const axes = GEMM_COLUMNS.every((column) => names.includes(column));
  if (!isLayer && !axes && names.length >= CONV_COLUMNS_MIN) return "conv";
  throw new RangeError(
    `${where}: the first line must be a header, "Layer name, ${
      CONV_COLUMNS.slice(0, CONV_COLUMNS_MIN).join(", ")
    }" or "Layer, M, N, K", got ${
      JSON.stringify(header.join(", ").slice(0, 80))
    }`,
  );
}

function dropBatch(
  fields: string[],
  { column, where }: { column: number; where: string },
): void {
  if (column < 0 || column >= fields.length) return;
  if (fields[column] !== "1") {
    throw new RangeError(
      `${where}: column ${column + 1} (batch size) must be 1, got "${
        fields[column]
      }"; batch with --batch`,
    );
  }
  fields.splice(column, 1);
}

function dropSparsity(fields: string[], where: string): void {
  const ratio = /^(\d+):(\d+)$/.exec(fields[fields.length - 1]);
  if (ratio === null) return;
  if (ratio[1] !== ratio[2]) {
    throw new RangeError(
      `${where}: column ${fields.length} (sparsity) ${
        ratio[0]
      } is not modelled; only dense layers (1:1) are`,
    );
  }
  fields.pop();
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
    needed: CONV_COLUMNS_MIN,
    where,
  });
  if (values.length === CONV_COLUMNS_MIN) {
    values.push(values[CONV_COLUMNS_MIN - 1]);
  }
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
