/** Schemas of settings as files that editors read: docs/schemas. */
import * as z from "zod";
import { MODEL_SETTINGS } from "../../server/repository/model_settings.ts";
import { SERVER_SETTINGS } from "./serve_settings.ts";

const SCHEMAS = {
  model: [
    MODEL_SETTINGS,
    "A model that Shoal serves: shoal.json of its folder",
  ],
  server: [SERVER_SETTINGS, "shoal serve: shoal.json of its folder"],
} as const;

/** Text of each schema's file, by name. */
export function schemaFiles(): { path: string; text: string }[] {
  return Object.entries(SCHEMAS).map(([name, [schema, title]]) => {
    const { $schema, ...rest } = z.toJSONSchema(schema, { io: "input" });
    const { properties = {} } = rest;
    // As many as this machine has cores.
    delete (properties["workers"] as { default?: unknown } | undefined)
      ?.default;
    const text = JSON.stringify({ $schema, title, ...rest }, undefined, 2);
    return { path: `docs/schemas/${name}.json`, text: `${text}\n` };
  });
}
