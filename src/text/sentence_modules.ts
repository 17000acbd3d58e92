/** What sentence-transformers computes behind a model, by its `modules.json`. */
import { describe, isList } from "../base/describe.ts";
import { TextFileError } from "./errors.ts";
import { parsedJson } from "./parsed.ts";

/** Folders of what is behind a model, in the order in which it is computed. */
export interface SentenceModules {
  /** Has the `config.json` that says how rows of tokens are pooled. */
  readonly pooling?: string;
  /** Have layers behind it, the first one first; see `readDense`. */
  readonly dense: readonly string[];
}

/** Modules that follow a model, in the order that is known. Dropout does nothing but in training. */
const ORDER = ["Pooling", "Dense", "Normalize"];
const NOTHING = "Dropout";

/** A module of the library's own. */
const MODULE = /^sentence_transformers\.(?:\w+\.)*(\w+)$/;

/** A folder in the model's own. */
const FOLDER = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;

/**
 * Reads `modules.json`. The first module is the model itself; behind it, rows are pooled, go through any number of Dense,
 * and come to length 1.
 * @param file text, bytes, or what JSON.parse makes of it
 * @throws TextFileError when it is none, or has other modules, or in another order
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { sentenceModules } from "@shoal/core/text";
 *
 * const file = [
 *   { idx: 0, name: "0", path: "", type: "sentence_transformers.models.Transformer" },
 *   { idx: 1, name: "1", path: "1_Pooling", type: "sentence_transformers.models.Pooling" },
 *   { idx: 2, name: "2", path: "2_Dense", type: "sentence_transformers.models.Dense" },
 *   { idx: 3, name: "3", path: "3_Normalize", type: "sentence_transformers.models.Normalize" },
 * ];
 * assert.deepEqual(sentenceModules(file), { pooling: "1_Pooling", dense: ["2_Dense"] });
 * ```
 */
export function sentenceModules(file: unknown): SentenceModules {
  const modules = parsedJson("modules.json", file);
  if (!isList(modules)) {
    throw new TextFileError(
      `modules.json is a list of modules, got ${describe(modules)}`,
    );
  }
  let pooling: string | undefined;
  const dense: string[] = [];
  let reached = -1;
  for (const each of modules.slice(1)) {
    const { type, path } = (each ?? {}) as { type?: unknown; path?: unknown };
    const [, kind] = MODULE.exec(`${type}`) ?? [];
    if (kind === NOTHING) continue;
    const at = ORDER.indexOf(kind);
    // Rows are pooled once.
    const least = Math.max(0, at === 0 ? reached + 1 : reached);
    if (at < least) {
      throw new TextFileError(
        `modules.json has ${describe(type)}${
          at < 0 ? "" : ` behind ${ORDER[reached]}`
        }: behind a model there are ${
          ORDER.join(", ")
        }, in this order, several Dense if need be; what else there is may be exported with the model, as its output "sentence_embedding"`,
      );
    }
    reached = at;
    if (kind === "Normalize") continue;
    if (typeof path !== "string" || !FOLDER.test(path)) {
      throw new TextFileError(
        `modules.json: "path" of ${kind} is a folder beside it, got ${
          describe(path)
        }`,
      );
    }
    if (kind === "Dense") dense.push(path);
    else pooling = path;
  }
  return { ...(pooling !== undefined && { pooling }), dense };
}
