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
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";

/** As many links as Linux follows. */
const LINKS_MAX = 40;

/** Where programs find their own streams: what lies behind these names is somebody's open file. */
const OPEN_FILES = /^\/(dev|proc)\//;

/** Why a folder takes no file in this one's place, or none of its owner, where this one may still be written. */
const IN_PLACE = ["EACCES", "EPERM", "EROFS", "EBUSY"];

/**
 * Writes a file. Links to it stay; another name of the same file (a hard link) keeps what was in it. Pipes, devices and
 * streams are written as they are, and so is a file in a folder that takes no other.
 * @throws Error of the file system; what was there is there then, except where it was written in place
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const place = placeOf(path);
  if (place === undefined) return writeFileSync(path, content);
  const old = statSync(place, { throwIfNoEntry: false });
  // A file that may not be written may not be replaced.
  if (old !== undefined) accessSync(place, constants.W_OK);
  const beside = join(dirname(place), `.shoal-${crypto.randomUUID()}`);
  try {
    writeWhole(beside, content);
    if (old !== undefined) beLike(old, beside);
    renameSync(beside, place);
  } catch (error) {
    rmSync(beside, { force: true });
    const { code = "" } = error as { code?: string };
    if (old === undefined || !IN_PLACE.includes(code)) throw error;
    writeFileSync(place, content);
  }
}

/** @throws Error of the file system unless `replaceFile` may write there; nothing is changed */
export function checkReplaceable(path: string): void {
  const place = placeOf(path) ?? path;
  if (existsSync(place) && !statSync(place).isDirectory()) {
    return accessSync(place, constants.W_OK);
  }
  closeSync(openSync(place, "a"));
  rmSync(place, { force: true });
}

/** Where a path's links lead, which need not be there yet; undefined: not to a file that may be replaced. */
function placeOf(path: string): string | undefined {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) return undefined;
  let place = resolve(path);
  for (let links = 0; links < LINKS_MAX; links++) {
    if (OPEN_FILES.test(place)) return undefined;
    const isLink = lstatSync(place, { throwIfNoEntry: false })
      ?.isSymbolicLink();
    if (!isLink) return place;
    place = resolve(dirname(place), readlinkSync(place));
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

function writeWhole(path: string, content: string | Uint8Array): void {
  const file = openSync(path, "wx");
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
