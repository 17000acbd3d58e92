/** What the definition of a cell may say; widths and operators are the builder's to check. */
import { describe, isList } from "../base/describe.ts";
import { knownOptions } from "../base/options.ts";
import { DTYPES, elementCount } from "../tensor/tensor.ts";

const DEFINITION = [
  "name",
  "phase",
  "recurrent",
  "priority",
  "inputs",
  "caches",
  "tokensMax",
  "body",
  "stop",
];
const PHASES: readonly unknown[] = ["static", "encoder", "decoder"];
const ROW_TYPES: readonly unknown[] = [...DTYPES, "q8"];

/** Messages repeat names of cells and ports as they are. */
const NAME_MAX = 100;

/** @throws TypeError or RangeError naming the cell and what it cannot have */
export function checkDefinition(definition: unknown): void {
  knownOptions("A cell's definition", definition, DEFINITION, "field");
  const {
    name,
    phase = "static",
    recurrent = false,
    priority = 0,
    inputs,
    caches = {},
    body,
    stop,
  } = definition as Record<string, unknown>;
  checkName("a cell", name);
  const cell = `cell "${name}"`;
  const expect = (
    holds: boolean,
    field: string,
    what: string,
    got: unknown,
  ): void => {
    if (holds) return;
    throw new TypeError(
      `"${field}" of ${cell} is ${what}, got ${describe(got)}`,
    );
  };
  expect(
    PHASES.includes(phase),
    "phase",
    "static, encoder or decoder",
    phase,
  );
  expect(
    typeof recurrent === "boolean",
    "recurrent",
    "true or false",
    recurrent,
  );
  expect(Number.isFinite(priority), "priority", "a number", priority);
  expect(typeof body === "function", "body", "a function", body);
  for (const [port, spec] of fieldsOf(`"inputs" of ${cell}`, inputs)) {
    const label = `Input "${port}" of ${cell}`;
    checkPort(label, spec);
  }
  for (const [cache, spec] of fieldsOf(`"caches" of ${cell}`, caches)) {
    knownOptions(
      `Cache "${cache}" of ${cell}`,
      spec,
      ["keyWidth", "valueWidth", "positionsMax"],
      "field",
    );
  }
  if (stop !== undefined) {
    const label = `"stop" of ${cell}`;
    knownOptions(label, stop, ["output", "token"], "field");
    const { token } = stop as Record<string, unknown>;
    expect(
      token === null || Number.isInteger(token),
      "stop.token",
      "an id, or null for none",
      token,
    );
  }
}

function checkPort(label: string, spec: unknown): void {
  knownOptions(label, spec, ["dtype", "width", "shape", "image"], "field");
  const { dtype, width, shape, image } = spec as Record<string, unknown>;
  if (!ROW_TYPES.includes(dtype)) {
    throw new TypeError(
      `${label} is of type ${ROW_TYPES.join(", ")}, got ${describe(dtype)}`,
    );
  }
  if (shape !== undefined && !hasAxes(shape, width, image)) {
    throw new RangeError(
      `${label} is ${dtype}[${describe(width)}], its shape ${
        describe(shape)
      }; see row(dtype, shape)`,
    );
  }
  if (image === undefined) return;
  const names = ["height", "width", "channels"];
  knownOptions(`The image of ${label}`, image, names, "field");
  const sizes = names.map((name) => (image as Record<string, unknown>)[name]);
  const isImage = (dtype === "f32" || dtype === "q8") &&
    sizes.every((size) => Number.isInteger(size) && Number(size) >= 1) &&
    sizes.reduce<number>((pixels, size) => pixels * Number(size), 1) === width;
  if (!isImage) {
    throw new RangeError(
      `${label} is ${dtype}[${describe(width)}], its image ${
        sizes.map((size) => describe(size, 20)).join(" x ")
      }; see image(height, width, channels)`,
    );
  }
}

/** Whether a shape has as many elements; an image has no other axes than its own. */
function hasAxes(shape: unknown, width: unknown, image: unknown): boolean {
  return image === undefined && isList(shape) &&
    shape.every((size) => Number.isInteger(size) && Number(size) >= 1) &&
    elementCount(shape as unknown as number[]) === width;
}

/** Entries of an object whose names messages may repeat. */
function fieldsOf(label: string, fields: unknown): [string, unknown][] {
  if (typeof fields !== "object" || fields === null) {
    throw new TypeError(`${label} is an object, got ${describe(fields)}`);
  }
  const entries = Object.entries(fields);
  for (const [name] of entries) checkName(label, name);
  return entries;
}

/** @throws TypeError unless a name is a text that messages can repeat */
export function checkName(what: string, name: unknown): void {
  if (typeof name !== "string" || name.length > NAME_MAX) {
    throw new TypeError(
      `The name of ${what} is a text of up to ${NAME_MAX} characters, got ${
        describe(name)
      }`,
    );
  }
}
