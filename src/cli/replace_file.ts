/**
 * Files that are written whole or not at all: beside their place, and then put into it, so that a full disk or an
 * interrupt leaves what was there.
 */
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, sep } from "node:path";
import process from "node:process";

/** As many links as Linux follows. */
const LINKS_MAX = 40;

/** Where programs find their own streams: what lies behind these names is somebody's open file. */
const OPEN_FILES = /^\/(dev|proc)\//;

/** Streams that, where they go to a file, have a place in it where the next output belongs. */
const STREAMS: Readonly<Record<string, "stdout" | "stderr">> = {
  "/dev/stdout": "stdout",
  "/dev/stderr": "stderr",
};

/** Why a folder takes no file in this one's place, or none of its owner, where this one may still be written. */
const IN_PLACE = ["EACCES", "EPERM", "EROFS", "EBUSY"];

/**
 * Writes a file. Links to it stay; another name of the same file (a hard link) keeps what was in it. Pipes, devices and
 * streams are written as they are, and so is a file in a folder that takes no other, or where the runtime was allowed
 * this file only.
 * @throws Error of the file system; what was there is there then, except where it was written in place
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  if (tried(() => replaced(path, content))) return;
  const stream = Object.hasOwn(STREAMS, path)
    ? process[STREAMS[path]]
    : undefined;
  const there = stream && tried(() => statSync(path));
  // A socket, which is what Node gives a program that it starts for a pipe, has no name to be opened by.
  if (there?.isSocket()) return void stream?.write(content);
  // A pipe's descriptor may be one that does not wait for who reads it; opened by its name it waits.
  const target = stream && there?.isFile() ? stream.fd : path;
  try {
    writeFileSync(target, content);
  } catch (error) {
    // That nobody reads on is no failure, of the program's own output.
    if (codeOf(error) !== "EPIPE" || !isStandardOutput(path)) throw error;
  }
}

/** @throws Error of the file system unless `replaceFile` may write there; nothing is changed */
export function checkReplaceable(path: string): void {
  const place = tried(() => placeOf(path)) ?? path;
  try {
    closeSync(openSync(place, "wx"));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    return checkThere(place);
  }
  unlinkSync(place);
}

/** Whether `replaceFile` would write both in one place, be something there or not; pipes, devices and streams take both. */
export function isOnePlace(path: string, other: string): boolean {
  const [one, two] = [path, other].map((name) => tried(() => placeOf(name)));
  return one !== undefined && one === two;
}

/** Whether what is written there goes where the standard output goes, by whatever name; terminals and devices take both. */
export function isStandardOutput(path: string): boolean {
  const [there, own] = [
    () => statSync(path, { bigint: true }),
    () => fstatSync(process.stdout.fd, { bigint: true }),
  ].map((stat) => {
    try {
      return stat();
    } catch {
      // Whoever writes there will say so.
      return undefined;
    }
  });
  return there !== undefined && !there.isCharacterDevice() &&
    there.dev === own?.dev && there.ino === own.ino;
}

function checkThere(path: string): void {
  const there = tried(() => statSync(path));
  // A pipe that is opened waits for who reads it.
  const isOpened = there === undefined || there.isFile() || there.isDirectory();
  if (isOpened) return checkOpens(path);
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    // Deno tells it only to who may know the user.
    if (!isNotAllowed(error)) throw error;
  }
}

/** @throws Error when a file may not be written */
function checkOpens(path: string): void {
  closeSync(openSync(path, constants.O_WRONLY));
}

/** @returns false where it has to be written as it is, and nothing was done */
function replaced(path: string, content: string | Uint8Array): boolean {
  const place = placeOf(path);
  if (place === undefined) return false;
  const old = statSync(place, { throwIfNoEntry: false });
  // A file that may not be written may not be replaced.
  if (old !== undefined) checkOpens(place);
  const beside = join(dirname(place), `.shoal-${crypto.randomUUID()}`);
  const file = openSync(beside, "wx");
  try {
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (old !== undefined) beLike(old, beside);
    renameSync(beside, place);
  } catch (error) {
    unlinkSync(beside);
    throw error;
  }
  return true;
}

/** Where a path's links lead, which need not be there yet; undefined: not to a file that may be replaced. */
function placeOf(path: string): string | undefined {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) return undefined;
  let place = path;
  for (let links = 0; links < LINKS_MAX; links++) {
    // What ends so is the name of a folder, and no name is none.
    if (/(^|[/\\])\.{0,2}$/.test(place)) return undefined;
    if (OPEN_FILES.test(place)) return undefined;
    // Of the folder's own place, since ".." after a link is where the link leads.
    place = join(realpathSync(dirname(place)), basename(place));
    if (OPEN_FILES.test(place)) return undefined;
    const isLink = lstatSync(place, { throwIfNoEntry: false })
      ?.isSymbolicLink();
    if (!isLink) return place;
    const target = readlinkSync(place);
    place = isAbsolute(target) ? target : `${dirname(place)}${sep}${target}`;
  }
  return undefined;
}

/** Gives a file the owner and the permissions of another. */
function beLike({ uid, gid, mode }: Stats, path: string): void {
  const made = statSync(path);
  // First, since it takes permissions away.
  if (made.uid !== uid || made.gid !== gid) chownSync(path, uid, gid);
  chmodSync(path, mode);
}

/** What `body` returns; undefined when it is not permitted, which need not be true of the file itself. */
function tried<Value>(body: () => Value): Value | undefined {
  try {
    return body();
  } catch (error) {
    if (isNotAllowed(error) || IN_PLACE.includes(codeOf(error))) {
      return undefined;
    }
    throw error;
  }
}

/** By Deno's or Node's permissions, that is, whatever the file system would say. */
function isNotAllowed(error: unknown): boolean {
  return (error as Error).name === "NotCapable" ||
    codeOf(error) === "ERR_ACCESS_DENIED";
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? "";
}
