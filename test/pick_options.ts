import { MODELS } from "../src/models/registry.ts";

/** Of many options those that a model of the registry has. */
export function pickOptions(
  model: string,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const known = MODELS[model].options;
  return Object.fromEntries(
    Object.entries(options).filter(([name]) => known.includes(name)),
  );
}
