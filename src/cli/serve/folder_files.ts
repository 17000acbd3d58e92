/** Models' files in a folder of this machine. */
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ModelFiles } from "../../server/repository/model_files.ts";

/** Files of a folder. */
export class FolderFiles implements ModelFiles {
  constructor(readonly path: string) {}

  async has(name: string): Promise<boolean> {
    const isThere = await entryAt(this.#of(name)) !== undefined;
    if (!isThere) await this.#checkLinks(name);
    return isThere;
  }

  async read(name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    try {
      const { buffer, byteOffset, byteLength } = await readFile(this.#of(name));
      return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
    } catch (error) {
      if (!isAbsent(error)) throw error;
      await this.#checkLinks(name);
      return undefined;
    }
  }

  locationOf(name: string): string {
    return this.#of(name);
  }

  async folders(): Promise<string[]> {
    const found: string[] = [];
    for (const name of await readdir(this.path)) {
      // What a link leads to counts.
      const isFolder = await stat(this.#of(name))
        .then((entry) => entry.isDirectory(), () => this.#mayBeFolder(name));
      if (isFolder) found.push(name);
    }
    return found;
  }

  folder(name: string): FolderFiles {
    return new FolderFiles(this.#of(name));
  }

  async stamp(): Promise<string> {
    await this.#checkLinks();
    return await contentsOf(await realpath(this.path));
  }

  /** What a link that leads nowhere was for nobody knows; what is gone since the folder was read is none. */
  #mayBeFolder(name: string): Promise<boolean> {
    return lstat(this.#of(name))
      .then((entry) => !entry.isFile(), (error) => !isAbsent(error));
  }

  /** @throws RangeError where the folder, or the file, is a link that leads nowhere: it was meant to be there */
  async #checkLinks(...names: string[]): Promise<void> {
    for (const path of [this.path, ...names.map((name) => this.#of(name))]) {
      const isThere = await stat(path).then(() => true, () => false);
      if (isThere) continue;
      if (!(await lstat(path).catch(() => undefined))?.isSymbolicLink()) return;
      throw new RangeError(`${basename(path)} is a link that leads nowhere`);
    }
  }

  #of(name: string): string {
    return join(this.path, name);
  }
}

/**
 * What is in a folder, and in those that links lead to, each once: a line for each file and folder, with where it really
 * is, as a link may come to lead to another file of the same size and time.
 * @param folder its real path
 */
async function contentsOf(folder: string): Promise<string> {
  const lines: string[] = [];
  const folders = new Set([folder]);
  // Those that are found on the way come at the end.
  for (const at of folders) {
    const paths = (await readdir(at)).sort().map((name) => join(at, name));
    const entries = await Promise.all(paths.map(entryAt));
    entries.forEach((entry, i) => {
      lines.push(`${paths[i]} ${entry?.text}`);
      if (entry?.isFolder) folders.add(entry.path);
    });
  }
  return lines.join("\n");
}

/** Undefined where there is none any more, or a link leads nowhere. */
async function entryAt(name: string) {
  try {
    const path = await realpath(name);
    const found = await stat(path);
    const isFolder = found.isDirectory();
    // A pipe's time is when somebody read or wrote, as this server may have.
    const has = isFolder || found.isFile()
      ? `${found.size} ${found.mtimeMs}`
      : "no size";
    return { path, text: `${path} ${has}`, isFolder };
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR";
}
