/** `shoal inspect`: what an ONNX file becomes. */
import type { Cell } from "../graph/cell.ts";
import type { Model } from "../graph/model.ts";
import type { Operator } from "../graph/operator.ts";
import { productsOf } from "../graph/products.ts";
import { type InputSpec, shapeText } from "../onnx/input_tensors.ts";
import type { OnnxDecoder } from "../onnx/decoder/decoder_model.ts";
import type { OnnxCellModel } from "../onnx/model.ts";
import type { Diagram } from "../report/diagram.ts";
import { svgOf } from "../report/diagram_svg.ts";
import { dotOf } from "../report/dot.ts";
import { renderTable, type Table } from "../report/table.ts";
import { cellDiagram } from "./cell_diagram.ts";
import { checkApart, checkWritable, writeText } from "./files.ts";
import {
  DECODER_HELP,
  DECODER_OPTIONS,
  loadDecoder,
  refuseDecoderOptions,
} from "./onnx_decoder.ts";
import {
  type FileOptions,
  loadFile,
  ONNX_HELP,
  ONNX_OPTIONS,
} from "./onnx_file.ts";
import { zeroElements } from "./onnx_inputs.ts";
import { readOptions, see } from "./options.ts";
import { printBeside, progress, stdoutColor, UsageError } from "./terminal.ts";

const NAME = "shoal inspect";

/** Characters of a line of operators in a drawing. */
const BOX_LINE_MAX = 44;

const HELP = `${NAME} MODEL.onnx [options]

Prints inputs and outputs of an ONNX file, and the cells that it is cut into, each a unit of batching: the
operators of a cell, its parameters, and the multiply-accumulates of one request.

${ONNX_HELP}
${DECODER_HELP}
  --json            as JSON
  --dot             as a drawing of the graph of cells that a request is, in Graphviz's language
  --svg FILE        writes this drawing to a file`;

export async function inspect(args: string[]): Promise<number> {
  const given = readOptions({
    name: NAME,
    help: HELP,
    options: {
      ...ONNX_OPTIONS,
      ...DECODER_OPTIONS,
      json: { type: "boolean" },
      dot: { type: "boolean" },
      svg: { type: "string" },
    },
    positionalsMax: 1,
  }, args);
  if (given === undefined) return 0;
  const { values, positionals } = given;
  if (values.dot && values.json) {
    throw new UsageError(`--dot or --json, not both${see(NAME)}`);
  }
  if (values.svg !== undefined) {
    checkApart(values.svg, positionals);
    checkWritable(values.svg);
  }
  const inspected = values.decoder
    ? decoderOf(await loadDecoder(NAME, positionals[0], values))
    : await fileOf(positionals[0], values);
  if (values.svg !== undefined) {
    writeText(values.svg, svgOf(diagramOf(inspected)));
    progress(`saved: ${values.svg}`);
  }
  const text = values.dot
    ? dotOf(diagramOf(inspected))
    : values.json
    ? JSON.stringify(inspected.about, null, 2)
    : inspected.text();
  printBeside([values.svg], text);
  return 0;
}

/** A model with what is printed of it. */
interface Inspected {
  readonly model: Model;
  /** What a request brings, in lines. */
  readonly inputs: readonly string[];
  /** What is drawn. */
  readonly request: unknown;
  readonly cells: readonly AboutCell[];
  readonly about: unknown;
  text(): string;
}

async function fileOf(
  path: string | undefined,
  values: FileOptions & Parameters<typeof refuseDecoderOptions>[0],
): Promise<Inspected> {
  refuseDecoderOptions(values);
  const model = await loadFile(NAME, path, values);
  const cells = model.cells.map(aboutCell);
  const { name, inputs, results, whyOneRow, notes } = model;
  return {
    ...{ model, cells },
    inputs: inputs.map(specText),
    request: zeroElements(inputs),
    about: { name, inputs, results, whyOneRow, cells, notes },
    text: () => textOf(model, cells),
  };
}

function decoderOf(model: OnnxDecoder): Inspected {
  const cells = model.cells.map(aboutCell);
  const { name, inputs, positionsMax, notes } = model;
  return {
    ...{ model, cells },
    inputs: ["tokens: i32[any]", ...inputs.map(specText)],
    request: {
      tokens: [0, 0].slice(0, positionsMax),
      inputs: zeroElements(inputs),
    },
    about: { name, inputs, positionsMax, cells, notes },
    text: () => textOfDecoder(model, cells),
  };
}

function diagramOf({ model, request, inputs, cells }: Inspected): Diagram {
  return cellDiagram({
    ...{ model, request, inputs },
    linesOf: (_, i) => {
      const { parameters, products } = cells[i];
      return [
        shortName(model, cells[i]),
        ...linesOfOperators(cells[i]),
        `${parameters} parameters, ${products} products`,
      ];
    },
  });
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

const specText = (spec: InputSpec) =>
  `${spec.name}: ${spec.dtype}${shapeText(spec)}`;

const listed = (specs: readonly InputSpec[]) =>
  specs.map((spec) => `  ${specText(spec)}`);

/** Without the model's. */
function shortName(model: Pick<Model, "name">, { name }: AboutCell): string {
  const before = `${model.name}/`;
  return name.startsWith(before) ? name.slice(before.length) : name;
}

function operatorsOf({ operators }: AboutCell): string[] {
  return Object.entries(operators).map(([op, count]) =>
    count === 1 ? op : `${count} ${op}`
  );
}

/** Operators of a box, some to a line. */
function linesOfOperators(cell: AboutCell): string[] {
  const lines: string[] = [];
  let line = "";
  for (const text of operatorsOf(cell)) {
    const joined = line === "" ? text : `${line}, ${text}`;
    if (line === "" || joined.length <= BOX_LINE_MAX) line = joined;
    else {
      lines.push(`${line},`);
      line = text;
    }
  }
  return line === "" ? lines : [...lines, line];
}

function tableOf(
  model: Pick<Model, "name">,
  cells: readonly AboutCell[],
): string {
  const table: Table = {
    columns: [
      { title: "cell" },
      { title: "rows" },
      { title: "operators" },
      { title: "parameters", align: "right" },
      { title: "products", align: "right" },
    ],
    rows: cells.map((about) => {
      const { rows, parameters, products } = about;
      return [
        { text: shortName(model, about) },
        { text: rows },
        { text: operatorsOf(about).join(", ") },
        { text: `${parameters}` },
        { text: `${products}` },
      ];
    }),
  };
  return renderTable(table, { color: stdoutColor() }).trimEnd();
}

function textOfDecoder(
  model: OnnxDecoder,
  cells: readonly AboutCell[],
): string {
  const { name, inputs, positionsMax, notes } = model;
  return [
    `${name}: a decoder of up to ${positionsMax} positions a request`,
    ...(inputs.length === 0 ? [] : [
      "inputs besides tokens, initial states zeros unless they are given",
      ...listed(inputs),
    ]),
    "",
    tableOf(model, cells),
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
    tableOf(model, cells),
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
