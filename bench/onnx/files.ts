/** Model files by paths and folders. */
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { describe } from "../../src/base/describe.ts";
import { UsageError } from "../../src/cli/terminal.ts";

/** A file to be measured. */
export interface ModelFile {
  path: string;
  /** The file's name, of those called model.onnx the folder's. */
  name: string;
}

const SUFFIX = ".onnx";

/**
 * The files given and those of the folders given, at any depth, in the order of their names.
 * @throws {UsageError} on a path that is none, a folder without models, or no path
 */
export function filesOf(paths: readonly string[]): ModelFile[] {
  if (paths.length === 0) {
    throw new UsageError(
      `Which models? Give ${SUFFIX} files, or folders that have some`,
    );
  }
  const files = paths.flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) {
      throw new UsageError(
        `There is no ${
          describe(path)
        }; give ${SUFFIX} files, or folders that have some`,
      );
    }
    if (!stat.isDirectory()) return [path];
    const found = modelsIn(path);
    if (found.length === 0) {
      throw new UsageError(`There is no ${SUFFIX} file in ${describe(path)}`);
    }
    return found;
  });
  return [...new Set(files.map((path) => resolve(path)))].map((path) => {
    const name = basename(path, SUFFIX);
    return { path, name: name === "model" ? basename(dirname(path)) : name };
  });
}

function modelsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(SUFFIX))
    .sort()
    .map((name) => join(folder, name));
}
