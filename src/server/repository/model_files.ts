/** Files of models, wherever they lie. A link that leads nowhere where a file or a folder is asked for is a RangeError. */

/** What lies beside a model: its tokenizer and so on. */
export interface FilesBeside {
  /** Whether there is a file of that name. */
  has(name: string): Promise<boolean>;
  /** A file's bytes; undefined where there is none of that name. */
  read(name: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Names of the folders in it, and of links that lead nowhere. */
  folders(): Promise<readonly string[]>;
  /** A folder in it. */
  folder(name: string): FilesBeside;
}

/** A model's folder, or one of its numbered ones. */
export interface ModelFiles extends FilesBeside {
  /** What `loadOnnx` finds a file under, so that those beside it are found, too. */
  locationOf(name: string): string | URL;
  /** A folder in it. */
  folder(name: string): ModelFiles;
  /** Differs when a file in it has changed. */
  stamp(): Promise<string>;
}

/**
 * What lies beside a version's model: what is in its own folder, and for what that has not, what is the same for all.
 * @param own the version's folder
 * @param shared the folder that has it
 */
export function versionFiles(
  own: FilesBeside,
  shared: FilesBeside,
): FilesBeside {
  return {
    has: async (name) => await own.has(name) || await shared.has(name),
    read: async (name) => await own.read(name) ?? await shared.read(name),
    folders: async () => [
      ...await own.folders(),
      ...await shared.folders(),
    ],
    folder: (name) => versionFiles(own.folder(name), shared.folder(name)),
  };
}
