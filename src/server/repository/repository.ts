/** Models of a folder, loaded, replaced and unloaded while the server runs. */
import { describe, shorten } from "../../base/describe.ts";
import type { EngineHost } from "../host/engine_host.ts";
import { InputError, NotFoundError } from "../host/errors.ts";
import type {
  ModelRepository,
  RepositoryEntry,
} from "../host/model_repository.ts";
import type { ServedModel } from "../host/served_model.ts";
import { loadModel } from "./load_model.ts";
import type { ModelFiles } from "./model_files.ts";

/** What a model may be called: no path leads out of its folder. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

/** Folders that are no models: hidden ones, and what is at the root of a disk. */
const NO_MODEL = /^\.|^lost\+found$/;

const UNFIT =
  `a model's name has up to 128 letters (A to Z), digits, "_", "-" and "."; rename its folder`;

/** What there is to tell as models come and go. */
export interface RepositoryHooks {
  /** A model's versions are served. */
  loaded?(served: ServedModel): void;
  /** A model cannot be loaded; those that served it do so on. */
  failed?(name: string, reason: string): void;
  /** A model is served no more. */
  unloaded?(name: string): void;
}

/** A folder with a folder for each model. */
export class Repository implements ModelRepository {
  readonly #host: EngineHost;
  readonly #files: ModelFiles;
  readonly #hooks: RepositoryHooks;
  /** What a model's files were like when they were loaded. */
  readonly #stamps = new Map<string, string>();
  readonly #reasons = new Map<string, string>();
  readonly #loading = new Set<string>();
  /** Changes come one after the other: what was read last is what is served. */
  #changes: Promise<unknown> = Promise.resolve();

  /** Loads nothing yet. */
  constructor(
    host: EngineHost,
    files: ModelFiles,
    hooks: RepositoryHooks = {},
  ) {
    this.#host = host;
    this.#files = files;
    this.#hooks = hooks;
  }

  /**
   * Makes what is served what lies in the folder: loads what is new or has changed, unloads what is gone.
   * @returns names of models that could not be loaded, and why
   */
  sync(): Promise<ReadonlyMap<string, string>> {
    return this.#inTurn(() => this.#sync());
  }

  async #sync(): Promise<ReadonlyMap<string, string>> {
    const { names, unfit } = await this.#folders();
    const loaded = new Map<string, readonly ServedModel[]>();
    const stamps = new Map<string, string>();
    const failed = new Map<string, string>();
    for (const name of unfit) {
      failed.set(name, UNFIT);
      this.#hooks.failed?.(describe(name), UNFIT);
    }
    for (const name of names) {
      try {
        const stamp = await this.#stamp(name);
        if (this.#stamps.get(name) === stamp) {
          // What could not be loaded meanwhile is gone again.
          this.#reasons.delete(name);
          continue;
        }
        loaded.set(name, await this.#read(name));
        stamps.set(name, stamp);
      } catch (error) {
        failed.set(name, (error as Error).message);
      }
    }
    const gone = [...new Set(this.#host.models.map(({ name }) => name))]
      .filter((name) => !names.includes(name));
    for (const [name, error] of await this.#place([...loaded], gone)) {
      failed.set(name, error.message);
      loaded.delete(name);
      stamps.delete(name);
    }
    for (const name of gone) this.#left(name);
    // Not before they are served: what fails is tried again.
    for (const [name, stamp] of stamps) this.#stamps.set(name, stamp);
    for (const served of [...loaded.values()].flat()) {
      this.#hooks.loaded?.(served);
    }
    return failed;
  }

  /** See ModelRepository. */
  async index(): Promise<RepositoryEntry[]> {
    const served = this.#host.models;
    const { names } = await this.#folders();
    const unserved = names.filter((name) =>
      !served.some((model) => model.name === name)
    );
    return [
      ...served.map(({ name, version }) => {
        const reason = this.#reasons.get(name);
        return {
          ...{ name, version, state: this.#stateOf(name, "READY") },
          ...(reason !== undefined && { reason }),
        };
      }),
      ...unserved.map((name) => {
        const reason = this.#reasons.get(name) ?? "unloaded";
        return { name, state: this.#stateOf(name, "UNAVAILABLE"), reason };
      }),
    ];
  }

  /** See ModelRepository. */
  load(name: string, settings?: unknown): Promise<void> {
    return this.#inTurn(() => this.#load(name, settings));
  }

  async #load(name: string, settings: unknown): Promise<void> {
    const { names } = await this.#folders();
    if (!names.includes(name)) throw unknown(name);
    const stamp = await this.#stamp(name);
    const loaded = await this.#read(name, settings);
    const failed = await this.#place([[name, loaded]]);
    for (const [, error] of failed) throw error;
    this.#stamps.set(name, stamp);
    for (const served of loaded) this.#hooks.loaded?.(served);
  }

  /** See ModelRepository. */
  unload(name: string): Promise<void> {
    return this.#inTurn(() => this.#unload(name));
  }

  async #unload(name: string): Promise<void> {
    if (!this.#host.models.some((served) => served.name === name)) {
      throw unknown(name);
    }
    await this.#place([], [name]);
    this.#left(name);
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(change);
    this.#changes = done.catch(() => {});
    return done;
  }

  #left(name: string): void {
    this.#stamps.delete(name);
    this.#reasons.delete(name);
    this.#hooks.unloaded?.(name);
  }

  /** Models' folders, and those that cannot be called by their names. */
  async #folders(): Promise<{ names: string[]; unfit: string[] }> {
    const folders = (await this.#files.folders())
      .filter((name) => !NO_MODEL.test(name)).sort();
    return {
      names: folders.filter((name) => NAME.test(name)),
      unfit: folders.filter((name) => !NAME.test(name)),
    };
  }

  #stateOf(
    name: string,
    otherwise: RepositoryEntry["state"],
  ): RepositoryEntry["state"] {
    return this.#loading.has(name) ? "LOADING" : otherwise;
  }

  /** @throws InputError saying why it cannot be loaded */
  async #read(name: string, settings?: unknown): Promise<ServedModel[]> {
    this.#loading.add(name);
    try {
      const loaded = await loadModel(name, this.#files.folder(name), settings);
      this.#reasons.delete(name);
      return loaded;
    } catch (error) {
      throw this.#failure(name, error);
    } finally {
      this.#loading.delete(name);
    }
  }

  /** What its files are like. @throws InputError where nobody may look, or links lead in a circle */
  async #stamp(name: string): Promise<string> {
    try {
      return await this.#files.folder(name).stamp();
    } catch (error) {
      throw this.#failure(name, error);
    }
  }

  /** Tells why a model cannot be loaded. */
  #failure(name: string, error: unknown): InputError {
    const reason = reasonOf(error);
    this.#reasons.set(name, reason);
    this.#hooks.failed?.(name, reason);
    return new InputError(`Model "${name}" cannot be loaded: ${reason}`, {
      cause: error,
    });
  }

  /**
   * Serves models in place of those of their names, as many as an engine can have: which of several it cannot, it does
   * not say.
   * @param gone names that are served no more
   * @returns those that cannot be served; what was served under their names is served on
   */
  async #place(
    loaded: readonly (readonly [string, readonly ServedModel[]])[],
    gone: readonly string[] = [],
  ): Promise<[string, InputError][]> {
    if (loaded.length === 0 && gone.length === 0) return [];
    const replaced = new Set([...gone, ...loaded.map(([name]) => name)]);
    try {
      await this.#host.change((models) => [
        ...models.filter(({ name }) => !replaced.has(name)),
        ...loaded.flatMap(([, served]) => served),
      ]);
      return [];
    } catch (error) {
      const isTheirs = error instanceof RangeError ||
        error instanceof TypeError;
      if (!isTheirs) throw error;
      if (loaded.length === 0) {
        throw new InputError(error.message, { cause: error });
      }
      if (loaded.length === 1) {
        const [[name]] = loaded;
        const rest = await this.#place([], gone);
        return [[name, this.#failure(name, error)], ...rest];
      }
      const half = loaded.length >> 1;
      return [
        ...await this.#place(loaded.slice(0, half), gone),
        ...await this.#place(loaded.slice(half)),
      ];
    }
  }
}

function unknown(name: string): NotFoundError {
  return new NotFoundError(`There is no model "${shorten(name)}"`);
}

/** What is wrong with files or settings; of anything else no more than that: it may name paths. */
function reasonOf(error: unknown): string {
  const { name, message } = error as Error;
  const isOfFiles = error instanceof RangeError || error instanceof TypeError ||
    name === "OnnxError" || name === "TextFileError";
  return isOfFiles ? message : "its files cannot be read";
}
