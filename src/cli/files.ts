/** Files that the caller names: whatever is wrong with them is the caller's to hear, in one line. */
import { shorten } from "../base/describe.ts";
import { closeSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { NESTING_MAX, TEXT_BYTES_MAX } from "./limits.ts";
import { checkReplaceable, isOnePlace, replaceFile } from "./replace_file.ts";
import { UsageError } from "./terminal.ts";

const CHUNK_BYTES = 2 ** 16;

/** @throws UsageError unless it is text of at most TEXT_BYTES_MAX */
export function readText(path: string): string {
  const bytes = readBytes(path);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** @throws UsageError unless it is a file of at most TEXT_BYTES_MAX */
export function readBytes(path: string): Uint8Array {
  const fail = (why: string): never => {
    throw new UsageError(`Cannot read ${named(path)}: ${why}`);
  };
  let bytes: Uint8Array | undefined;
  try {
    if (statSync(path).isDirectory()) return fail("it is a directory");
    bytes = readUpTo(path, TEXT_BYTES_MAX);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return fail(reasonOf(error));
  }
  return bytes ??
    fail(
      `it has more than ${TEXT_BYTES_MAX / 2 ** 20} MiB, the most that is read`,
    );
}

/** Read in pieces, since a pipe or a device does not know its size. @returns undefined beyond `max` */
function readUpTo(path: string, max: number): Uint8Array | undefined {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const file = openSync(path, "r");
  try {
    for (;;) {
      const piece = new Uint8Array(CHUNK_BYTES);
      const read = readSync(file, piece, 0, CHUNK_BYTES, null);
      if (read === 0) break;
      size += read;
      if (size > max) return undefined;
      pieces.push(piece.subarray(0, read));
    }
  } finally {
    closeSync(file);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/**
 * @param label the file's name, for messages
 * @throws UsageError unless it is JSON of finite numbers, not nested too deep
 */
export function parseJson(text: string, label: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new UsageError(
      `${shorten(label)}: not JSON (${shorten((error as Error).message)})`,
    );
  }
  checkValue(value, label, 0);
  return value;
}

function checkValue(value: unknown, label: string, depth: number): void {
  if (depth > NESTING_MAX) {
    throw new UsageError(
      `${shorten(label)}: nested deeper than ${NESTING_MAX} levels`,
    );
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new UsageError(
      `${shorten(label)}: a number is too large to be one`,
    );
  }
  if (typeof value !== "object" || value === null) return;
  for (const inner of Object.values(value)) {
    checkValue(inner, label, depth + 1);
  }
}

/** @throws UsageError when the file cannot be written */
export function writeText(path: string, text: string): void {
  write(path, text);
}

/** @throws UsageError when the file cannot be written */
export function writeBytes(path: string, bytes: Uint8Array): void {
  write(path, bytes);
}

function write(path: string, content: string | Uint8Array): void {
  written(path, () => replaceFile(path, content));
}

function written(path: string, body: () => void): void {
  const fail = (why: string): never => {
    throw new UsageError(`Cannot write ${named(path)}: ${why}`);
  };
  // To many programs it is the standard output; a file of that name is hard to get rid of.
  if (path === "-") {
    fail("name /dev/stdout to have it printed, or ./- for a file of that name");
  }
  try {
    body();
  } catch (error) {
    fail(reasonOf(error));
  }
}

/**
 * Tries before hours of work whether a result can be written; nothing is changed, and no empty file stays behind of
 * work that is given up.
 * @throws UsageError when it cannot
 */
export function checkWritable(path: string): void {
  written(path, () => checkReplaceable(path));
}

/**
 * @param path where a command writes
 * @param read the files that it reads; undefined: not given
 * @throws UsageError when it is one of them, by whatever name or link
 */
export function checkApart(
  path: string,
  read: readonly (string | undefined)[],
): void {
  const there = fileOf(path);
  if (there === undefined) return;
  for (const other of read) {
    if (other === undefined || fileOf(other) !== there) continue;
    const as = other === path ? "" : `, as ${named(other)}`;
    throw new UsageError(
      `Cannot write ${named(path)}: it is read${as}; name another file`,
    );
  }
}

/**
 * All places where a command writes, before it does anything.
 * @param paths of them; undefined: not given
 * @param read the files that it reads; undefined: not given
 * @throws UsageError when one cannot be written, is read, or is another of them, by whatever name or link
 */
export function checkOutputs(
  paths: readonly (string | undefined)[],
  read: readonly (string | undefined)[],
): void {
  const given = paths.filter((path) => path !== undefined);
  for (const [i, path] of given.entries()) {
    checkApart(path, read);
    checkWritable(path);
    const other = given.slice(0, i).find((other) => isOnePlace(path, other));
    if (other === undefined) continue;
    const as = other === path ? "" : `, as ${named(other)}`;
    throw new UsageError(
      `Cannot write ${named(path)} twice${as}; name another file`,
    );
  }
}

/** What file a path leads to; undefined: none, or not a file. */
function fileOf(path: string): string | undefined {
  try {
    const stat = statSync(path, { bigint: true });
    return stat.isFile() ? `${stat.dev}:${stat.ino}` : undefined;
  } catch {
    // Whoever reads or writes it will say so.
    return undefined;
  }
}

/** @throws UsageError when the folder is not there and cannot be made */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
    if (statSync(path).isDirectory()) return;
  } catch (error) {
    throw new UsageError(
      `Cannot make the folder ${named(path)}: ${reasonOf(error)}`,
    );
  }
  throw new UsageError(
    `Cannot make the folder ${named(path)}: it is a file`,
  );
}

function named(path: string): string {
  return path === "" ? '""' : shorten(path);
}

/** What the system said, without the path again. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as Error & { code?: string };
  return code !== undefined && Object.hasOwn(REASONS, code)
    ? REASONS[code]
    : shorten(message);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or directory",
  EISDIR: "it is a directory",
  ENOTDIR: "part of the path is a file, not a directory",
  EEXIST: "it is a file, not a directory",
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "its links go in circles",
};
