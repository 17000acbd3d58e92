/** Models' files in a folder of this machine. */
import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ModelFiles } from "../../server/repository/model_files.ts";

/** Files of a folder. */
export class FolderFiles implements ModelFiles {
  constructor(readonly path: string) {}

  async has(name: string): Promise<boolean> {
    const isThere = await this.#sizeAndTime(name) !== undefined;
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
    const names = (await readdir(this.path, { recursive: true })).sort();
    const stamps = names.map(async (name) =>
      `${name} ${await this.#sizeAndTime(name)}`
    );
    return (await Promise.all(stamps)).join("\n");
  }

  async #sizeAndTime(name: string): Promise<string | undefined> {
    try {
      const found = await stat(this.#of(name));
      return `${found.size} ${found.mtimeMs}`;
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
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

function isAbsent(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR";
}
