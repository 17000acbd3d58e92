/** `shoal inspect`: what an ONNX file becomes. */
import type { Cell } from "../graph/cell.ts";
import type { Operator } from "../graph/operator.ts";
import { productsOf } from "../graph/products.ts";
import { type InputSpec, shapeText } from "../onnx/input_tensors.ts";
import type { OnnxDecoder } from "../onnx/decoder/decoder_model.ts";
import type { OnnxCellModel } from "../onnx/model.ts";
import { renderTable, type Table } from "../report/table.ts";
import {
  DECODER_HELP,
  DECODER_OPTIONS,
  loadDecoder,
  refuseDecoderOptions,
} from "./onnx_decoder.ts";
import { loadFile, ONNX_HELP, ONNX_OPTIONS } from "./onnx_file.ts";
import { readOptions } from "./options.ts";
import { print, stdoutColor } from "./terminal.ts";

const NAME = "shoal inspect";

const HELP = `${NAME} MODEL.onnx [options]

Prints inputs and outputs of an ONNX file, and the cells that it is cut into, each a unit of batching: the
operators of a cell, its parameters, and the multiply-accumulates of one request.

${ONNX_HELP}
${DECODER_HELP}
  --json            as JSON`;

export async function inspect(args: string[]): Promise<number> {
  const given = readOptions({
    name: NAME,
    help: HELP,
    options: { ...ONNX_OPTIONS, ...DECODER_OPTIONS, json: { type: "boolean" } },
    positionalsMax: 1,
  }, args);
  if (given === undefined) return 0;
  const { values, positionals } = given;
  if (values.decoder) {
    const model = await loadDecoder(NAME, positionals[0], values);
    const cells = model.cells.map(aboutCell);
    if (values.json === true) {
      const { name, inputs, positionsMax, notes } = model;
      const about = { name, inputs, positionsMax, cells, notes };
      print(JSON.stringify(about, null, 2));
    } else print(textOfDecoder(model, cells));
    return 0;
  }
  refuseDecoderOptions(values);
  const model = await loadFile(NAME, positionals[0], values);
  const cells = model.cells.map(aboutCell);
  if (values.json === true) {
    const { name, inputs, results, whyOneRow, notes } = model;
    const about = { name, inputs, results, whyOneRow, cells, notes };
    print(JSON.stringify(about, null, 2));
  } else print(textOf(model, cells));
  return 0;
}

interface AboutCell {
  readonly name: string;
  /** What its rows are. */
  readonly rows: "requests" | "positions";
  readonly operators: Readonly<Record<string, number>>;
  readonly parameters: number;
  readonly products: number;
}

function aboutCell({ name, phase, tokensMax, operators }: Cell): AboutCell {
  const isPosition = tokensMax !== undefined || phase === "encoder";
  const counts: Record<string, number> = {};
  for (const operator of operators) {
    if (operator.op === "Reshape" || operator.op === "Constant") continue;
    const called = operator.op === "Plain"
      ? `${operator.name} (plain)`
      : operator.op;
    counts[called] = (counts[called] ?? 0) + 1;
  }
  const sum = (of: (operator: Operator) => number) =>
    operators.reduce((total, operator) => total + of(operator), 0);
  return {
    name,
    rows: isPosition ? "positions" : "requests",
    operators: counts,
    parameters: sum(parametersOf),
    products: sum(productsOf),
  };
}

/** Elements of its weights. */
function parametersOf(operator: Operator): number {
  return Object.values(operator).reduce((sum: number, field: unknown) => {
    const { data, values } = (field ?? {}) as {
      data?: unknown;
      values?: unknown;
    };
    const elements = data ?? values;
    return ArrayBuffer.isView(elements)
      ? sum + (elements as Float32Array).length
      : sum;
  }, 0);
}

const listed = (specs: readonly InputSpec[]) =>
  specs.map((spec) => `  ${spec.name}: ${spec.dtype}${shapeText(spec)}`);

function tableOf(cells: readonly AboutCell[]): string {
  const table: Table = {
    columns: [
      { title: "cell" },
      { title: "rows" },
      { title: "operators" },
      { title: "parameters", align: "right" },
      { title: "products", align: "right" },
    ],
    rows: cells.map(({ name, rows, operators, parameters, products }, i) => [
      { text: name.slice(name.lastIndexOf(`/${i}`) + 1) },
      { text: rows },
      {
        text: Object.entries(operators).map(([op, count]) =>
          count === 1 ? op : `${count} ${op}`
        ).join(", "),
      },
      { text: `${parameters}` },
      { text: `${products}` },
    ]),
  };
  return renderTable(table, { color: stdoutColor() }).trimEnd();
}

function textOfDecoder(
  { name, inputs, positionsMax, notes }: OnnxDecoder,
  cells: readonly AboutCell[],
): string {
  return [
    `${name}: a decoder of up to ${positionsMax} positions a request`,
    ...(inputs.length === 0 ? [] : [
      "inputs besides tokens, initial states zeros unless they are given",
      ...listed(inputs),
    ]),
    "",
    tableOf(cells),
    ...notes.map((note) => `- ${note}`),
    "Every request leaves at its own last step; those under way batch, whatever their lengths, under every policy.",
  ].join("\n");
}

function textOf(model: OnnxCellModel, cells: readonly AboutCell[]): string {
  const free = model.inputs.find(({ free }) => free)?.free;
  const total = (of: (cell: AboutCell) => number) =>
    cells.reduce((sum, cell) => sum + of(cell), 0);
  return [
    `${model.name}: ${cells.length} ${cells.length === 1 ? "cell" : "cells"}, ${
      total(({ parameters }) => parameters)
    } parameters, ${
      total(({ products }) => products)
    } multiply-accumulates a request${
      free ? ` of one of ${JSON.stringify(free.name)}` : ""
    }`,
    "inputs",
    ...listed(model.inputs),
    "outputs",
    ...listed(model.results),
    "",
    tableOf(cells),
    ...model.notes.map((note) => `- ${note}`),
    free
      ? `Requests bring as many of ${
        JSON.stringify(free.name)
      } as they like; those of unlike lengths batch, without padding, under every policy.`
      : "Every request is a row of its own in every cell: any number of them batch, under every policy.",
    ...(free ? [] : [
      model.whyOneRow === undefined
        ? "A request may bring several rows, which become requests of their own."
        : `A request is one row: ${model.whyOneRow}.`,
    ]),
  ].join("\n");
}
