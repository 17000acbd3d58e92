/** Where models come from while a server runs: what the repository calls of protocols reach. */

/** A model of a repository, or one of its versions. */
export interface RepositoryEntry {
  /** What requests call it. */
  readonly name: string;
  /** Absent where nothing of it was ever loaded. */
  readonly version?: string;
  /** As Triton has them. */
  readonly state: "READY" | "LOADING" | "UNLOADING" | "UNAVAILABLE";
  /** Why it is not ready, if there is something to say: names nothing of this machine. */
  readonly reason?: string;
}

/** Models that may be loaded, replaced and unloaded. */
export interface ModelRepository {
  /** All that there are, loaded or not. */
  index(): Promise<readonly RepositoryEntry[]>;
  /**
   * Loads a model, or loads it again: requests that came before are answered by what was there.
   * @param config settings in place of the model's own, as its configuration file has them
   * @throws NotFoundError, or InputError when it cannot be loaded; what was there is served on
   */
  load(name: string, config?: unknown): Promise<void>;
  /**
   * Serves a model no more.
   * @throws NotFoundError
   */
  unload(name: string): Promise<void>;
}
