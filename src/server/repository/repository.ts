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

/** Times that files are read anew which have changed meanwhile; of some that change all the time it is what it is. */
const AGAIN_MAX = 3;

/** What was read of a model's folder, and what its files were like. */
interface Read {
  readonly served: readonly ServedModel[];
  readonly stamp: string;
}

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
        const read = await this.#read(name, stamp);
        loaded.set(name, read.served);
        stamps.set(name, read.stamp);
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
    const { served, stamp } = await this.#read(
      name,
      await this.#stamp(name),
      settings,
    );
    const failed = await this.#place([[name, served]]);
    for (const [, error] of failed) throw error;
    this.#stamps.set(name, stamp);
    for (const one of served) this.#hooks.loaded?.(one);
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

  /**
   * Loads a model from its files: all of them as they were before a change of them, or after it.
   * @param stamp what they are like
   * @throws InputError saying why it cannot be loaded
   */
  async #read(name: string, stamp: string, settings?: unknown): Promise<Read> {
    this.#loading.add(name);
    try {
      const files = this.#files.folder(name);
      for (let at = stamp, again = AGAIN_MAX;; again--) {
        const [read] = await Promise.allSettled([
          loadModel(name, files, settings),
        ]);
        const isLast = again === 0;
        const now = isLast ? at : await files.stamp();
        if (now !== at) {
          at = now;
          continue;
        }
        if (read.status === "rejected") throw read.reason;
        this.#reasons.delete(name);
        return { served: read.value, stamp: at };
      }
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
