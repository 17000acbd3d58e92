/** Models' files in a folder of this machine. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ModelFiles } from "../../server/repository/model_files.ts";

/** Files of a folder. */
export class FolderFiles implements ModelFiles {
  constructor(readonly path: string) {}

  async has(name: string): Promise<boolean> {
    return await this.#sizeAndTime(name) !== undefined;
  }

  async read(name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    try {
      const { buffer, byteOffset, byteLength } = await readFile(this.#of(name));
      return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  locationOf(name: string): string {
    return this.#of(name);
  }

  async folders(): Promise<string[]> {
    const found: string[] = [];
    for (const name of await readdir(this.path)) {
      // What a link leads to counts.
      if ((await stat(this.#of(name)).catch(() => undefined))?.isDirectory()) {
        found.push(name);
      }
    }
    return found;
  }

  folder(name: string): FolderFiles {
    return new FolderFiles(this.#of(name));
  }

  async stamp(): Promise<string> {
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

  #of(name: string): string {
    return join(this.path, name);
  }
}

function isAbsent(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR";
}
