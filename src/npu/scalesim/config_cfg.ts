/**
 * Reads SCALE-Sim's `.cfg` files: `[section]` lines and `key : value` (or `key = value`) lines.
 * Keys are matched without regard to case, as the tool's own parser does. Unknown keys and
 * sections are refused; features that are not modelled (sparsity, layouts, Ramulator) are refused
 * when they are switched on.
 */
import { type Dataflow, DATAFLOWS } from "../dataflow.ts";
import type { ScaleSimMachine } from "./report.ts";

export interface ScaleSimConfig extends ScaleSimMachine {
  runName: string;
  /** Words per cycle on each DRAM port in USER mode; absent in CALC mode. */
  bandwidthWords?: number;
}

const SECTIONS = [
  "general",
  "architecture_presets",
  "run_presets",
  "layout",
  "sparsity",
];
const NEEDED = [
  "arrayheight",
  "arraywidth",
  "ifmapsramszkb",
  "filtersramszkb",
  "ofmapsramszkb",
  "dataflow",
];
const KNOWN = new Set([
  ...NEEDED,
  "run_name",
  "ifmapoffset",
  "filteroffset",
  "ofmapoffset",
  "bandwidth",
  "memorybanks",
  "onchipmemorybanks",
  "onchipmemorybankports",
  "interfacebandwidth",
  "readrequestbuffer",
  "writerequestbuffer",
  "ifmapsrambankbandwidth",
  "ifmapsrambanknum",
  "ifmapsrambankport",
  "filtersrambankbandwidth",
  "filtersrambanknum",
  "filtersrambankport",
]);
/** Switches of features that are not modelled, and the settings under which they do nothing. */
const SWITCHES: Readonly<Record<string, readonly string[]>> = {
  useramulatortrace: ["false"],
  sparsitysupport: ["false"],
  ifmapcustomlayout: ["false"],
  filtercustomlayout: ["false"],
};

/** Throws a RangeError naming file, line and key. */
export function parseConfig(text: string, file: string): ScaleSimConfig {
  const values = new Map<string, { value: string; where: string }>();
  let section = "";
  text.replace(/^\uFEFF/, "").split(/\r?\n/).forEach((raw, index) => {
    const line = raw.replace(/[#;].*$/, "").trim();
    const where = `${file}:${index + 1}`;
    if (line === "") return;
    const header = /^\[(.+)\]$/.exec(line);
    if (header !== null) {
      section = header[1].trim().toLowerCase();
      if (!SECTIONS.includes(section)) {
        throw new RangeError(
          `${where}: unknown section [${header[1]}]; known: ${
            SECTIONS.join(", ")
          }`,
        );
      }
      return;
    }
    const pair = /^([^:=]+)[:=](.*)$/.exec(line);
    if (pair === null) {
      throw new RangeError(`${where}: expected "key : value", got "${line}"`);
    }
    const key = pair[1].trim();
    checkKey(key, { value: pair[2].trim(), section, where });
    const before = values.get(key.toLowerCase());
    if (before !== undefined) {
      throw new RangeError(
        `${where}: key "${key}" was given before, at ${before.where}`,
      );
    }
    values.set(key.toLowerCase(), { value: pair[2].trim(), where });
  });
  return configOf(values, file);
}

function checkKey(
  key: string,
  { value, section, where }: { value: string; section: string; where: string },
): void {
  const name = key.toLowerCase();
  const off = SWITCHES[name];
  if (off !== undefined) {
    if (off.includes(value.toLowerCase())) return;
    throw new RangeError(
      `${where}: ${key} = ${value} is not modelled; set it to ${off[0]}`,
    );
  }
  // Settings of features that are off by the switches above.
  if (section === "layout" || section === "sparsity") return;
  if (!KNOWN.has(name)) throw new RangeError(`${where}: unknown key "${key}"`);
}

function configOf(
  values: Map<string, { value: string; where: string }>,
  file: string,
): ScaleSimConfig {
  for (const key of NEEDED) {
    if (!values.has(key)) {
      throw new RangeError(`${file}: key "${key}" is missing`);
    }
  }
  const integer = (key: string, item?: string): number => {
    const { value: whole, where } = values.get(key)!;
    const value = item ?? whole;
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (!Number.isSafeInteger(number) || number < 1) {
      throw new RangeError(
        `${where}: ${key} must be an integer of at least 1, got "${value}"`,
      );
    }
    return number;
  };
  const dataflow = values.get("dataflow")!;
  const name = DATAFLOWS.find((known) =>
    known === dataflow.value.toLowerCase()
  );
  if (name === undefined) {
    throw new RangeError(
      `${dataflow.where}: dataflow must be one of ${
        DATAFLOWS.join(", ")
      }, got "${dataflow.value}"`,
    );
  }
  return {
    runName: values.get("run_name")?.value ?? file,
    array: { rows: integer("arrayheight"), cols: integer("arraywidth") },
    buffers: {
      ifmapKb: integer("ifmapsramszkb"),
      filterKb: integer("filtersramszkb"),
      ofmapKb: integer("ofmapsramszkb"),
    },
    dataflow: name as Dataflow,
    bandwidthWords: readBandwidth(values, integer),
  };
}

function readBandwidth(
  values: Map<string, { value: string; where: string }>,
  integer: (key: string, item: string) => number,
): number | undefined {
  const mode = values.get("interfacebandwidth");
  if (mode === undefined || mode.value.toUpperCase() === "CALC") {
    return undefined;
  }
  if (mode.value.toUpperCase() !== "USER") {
    throw new RangeError(
      `${mode.where}: InterfaceBandwidth must be CALC or USER, got "${mode.value}"`,
    );
  }
  if (!values.has("bandwidth")) {
    throw new RangeError(
      `${mode.where}: InterfaceBandwidth is USER but key "Bandwidth" is missing`,
    );
  }
  // A list in the tool, which gives its first item to all three ports.
  const [first] = values.get("bandwidth")!.value.split(",").map((item) =>
    integer("bandwidth", item.trim())
  );
  return first;
}
