/**
 * Results of points as files, one each, so that an interrupted run loses no more than the point under way.
 * A file is named by its key and says which source file's code computed it; it is believed as long as that code
 * is what it was. So experiments of different files share a point that they have in common. Files come to be
 * whole or not at all, and two threads that compute the same write the same.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "../../../src/base/describe.ts";
import type { Json } from "../experiment.ts";
import type { Sources } from "./sources.ts";

export type PointKey = Readonly<Record<string, Json>>;

export interface PointCacheOptions {
  readonly folder: string;
  readonly sources: Sources;
  /** The source file that computes, from the root of the project. */
  readonly file: string;
  /** What is there is computed again. */
  readonly fresh?: boolean;
}

/** What a file of the cache holds. */
interface Entry {
  readonly key: Json;
  readonly file: string;
  readonly sources: string;
  readonly value: Json;
}

export class PointCache {
  readonly #options: PointCacheOptions;
  readonly #sources: string;
  /** Points of this run, also those under way. */
  readonly #points = new Map<string, Promise<Json>>();

  /** @throws Error when the source file does not exist */
  constructor(options: PointCacheOptions) {
    this.#options = options;
    const sources = options.sources.hash(options.file);
    if (sources === undefined) {
      throw new Error(`There is no source file ${options.file}`);
    }
    this.#sources = sources;
    mkdirSync(options.folder, { recursive: true });
  }

  /**
   * The value of a key: from its file, or computed and written there.
   * @param computing hears that it is computed
   * @throws TypeError on a key or value that JSON cannot hold
   */
  point(
    key: PointKey,
    compute: () => Json | Promise<Json>,
    computing: () => void = () => {},
  ): Promise<Json> {
    const name = canonical(key);
    const known = this.#points.get(name);
    if (known !== undefined) return known;
    const value = this.#point(name, compute, computing);
    this.#points.set(name, value);
    return value;
  }

  async #point(
    key: string,
    compute: () => Json | Promise<Json>,
    computing: () => void,
  ): Promise<Json> {
    const path = join(this.#options.folder, `${sha256(key)}.json`);
    if (!this.#options.fresh) {
      const entry = this.#read(path, key);
      if (entry !== undefined) return entry.value;
    }
    computing();
    // What is returned is what the file will give, to the digit.
    const value = JSON.parse(canonical(await compute())) as Json;
    const { file } = this.#options;
    const entry: Entry = {
      key: JSON.parse(key) as Json,
      file,
      sources: this.#sources,
      value,
    };
    const temporary = `${path}.${randomUUID()}.tmp`;
    writeFileSync(temporary, JSON.stringify(entry));
    renameSync(temporary, path);
    return value;
  }

  /** @returns undefined when there is none, or none to be believed */
  #read(path: string, key: string): Entry | undefined {
    let entry: Partial<Entry> | null;
    try {
      entry = JSON.parse(readFileSync(path, "utf8")) as Partial<Entry> | null;
    } catch {
      return undefined;
    }
    const isValid = typeof entry === "object" && entry !== null &&
      typeof entry.file === "string" && entry.value !== undefined &&
      entry.key !== undefined && canonical(entry.key) === key &&
      entry.sources === this.#options.sources.hash(entry.file);
    return isValid ? entry as Entry : undefined;
  }
}

/**
 * JSON with sorted keys.
 * @throws TypeError on what JSON would lose: numbers that are not finite, undefined, functions
 */
export function canonical(value: Json, path = "value"): string {
  if (Array.isArray(value)) {
    const elements = value as readonly Json[];
    return `[${
      elements.map((one, i) => canonical(one, `${path}[${i}]`)).join()
    }]`;
  }
  if (isRecord(value)) {
    const fields = Object.entries(value)
      .sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, one]) =>
        `${JSON.stringify(name)}:${canonical(one, `${path}.${name}`)}`
      );
    return `{${fields.join()}}`;
  }
  const isJson = value === null || typeof value === "string" ||
    typeof value === "boolean" ||
    (typeof value === "number" && Number.isFinite(value));
  if (!isJson) {
    throw new TypeError(
      `A point's ${path} cannot be kept as JSON: ${describe(value)}`,
    );
  }
  return JSON.stringify(value);
}

function isRecord(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
