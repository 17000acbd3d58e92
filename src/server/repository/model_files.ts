/** Files of models, wherever they lie. A link that leads nowhere where a file or a folder is asked for is a RangeError. */

/** A model's folder, or one of its numbered ones. */
export interface ModelFiles {
  /** Whether there is a file of that name. */
  has(name: string): Promise<boolean>;
  /** A file's bytes; undefined where there is none of that name. */
  read(name: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** What `loadOnnx` finds a file under, so that those beside it are found, too. */
  locationOf(name: string): string | URL;
  /** Names of the folders in it, and of links that lead nowhere. */
  folders(): Promise<readonly string[]>;
  /** A folder in it. */
  folder(name: string): ModelFiles;
  /** Differs when a file in it has changed. */
  stamp(): Promise<string>;
}
