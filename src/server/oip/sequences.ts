/**
 * Sequences (Triton's extension): requests that say which stream they are of, each a frame of it. What a stream keeps
 * from frame to frame stays in the engine; one that nobody has asked anything for a while is ended.
 */
import { describe, shorten } from "../../base/describe.ts";
import { timerMs } from "../../engine/wall/patience.ts";
import type { EngineHost } from "../host/engine_host.ts";
import { OverloadedError } from "../host/errors.ts";
import { checkTakesRequests, takesRequests } from "../host/host_state.ts";
import type { HostSession } from "../host/host_session.ts";
import type { ServedModel } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import type { Parameters } from "./request.ts";

/** Microseconds without a request after which a sequence is ended, where a model's settings do not say. */
const IDLE_US = 60_000_000;

/** Open sequences of a model, where its settings do not say. */
const SEQUENCES_MAX = 4096;

const US_PER_MS = 1000;

/** When one may have ended. */
const RETRY_AFTER_MS = 1000;

/** Characters of an id. */
const ID_MAX = 128;

/** What a request says of its sequence. */
export interface SequenceFlags {
  /** As a string: 7 and "7" are one. */
  readonly id: string;
  readonly isStart: boolean;
  readonly isEnd: boolean;
}

interface Sequence {
  readonly id: string;
  /** Open ones of its model, by id. */
  readonly among: Map<string, Sequence>;
  readonly session: HostSession;
  /** Requests under way: it is not idle while there are any. */
  asked: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** @throws HttpError 400; @returns undefined of a request that is of no sequence */
export function sequenceFlags(
  { sequence_id: id = 0, sequence_start, sequence_end }: Parameters,
): SequenceFlags | undefined {
  const flag = (name: string, value: unknown): boolean => {
    if (value === undefined) return false;
    // Triton's clients write numbers, too.
    if (value === true || value === 1) return true;
    if (value === false || value === 0) return false;
    throw new HttpError(
      400,
      `"${name}" is true or false, got ${describe(value)}`,
    );
  };
  const isStart = flag("sequence_start", sequence_start);
  const isEnd = flag("sequence_end", sequence_end);
  if (id === 0 || id === "") {
    if (!isStart && !isEnd) return undefined;
    throw new HttpError(400, `A sequence has a "sequence_id"`);
  }
  const isId = typeof id === "string" && id.length <= ID_MAX ||
    typeof id === "bigint" && id > 0n ||
    typeof id === "number" && Number.isSafeInteger(id) && id > 0;
  if (isId) return { id: `${id}`, isStart, isEnd };
  throw new HttpError(
    400,
    `"sequence_id" is a positive integer or a string of up to ${ID_MAX} characters, got ${
      describe(id)
    }`,
  );
}

/** The open sequences of a host. */
export class Sequences {
  static readonly #ofHosts = new WeakMap<EngineHost, Sequences>();
  /** Of each name of a model, by id. */
  readonly #open = new Map<string, Map<string, Sequence>>();

  /** Those of a host: all servers of it share them. */
  static of(host: EngineHost): Sequences {
    let found = this.#ofHosts.get(host);
    if (found === undefined) {
      this.#ofHosts.set(host, found = new Sequences(host));
    }
    return found;
  }

  private constructor(readonly host: EngineHost) {}

  /** How many are open. */
  get size(): number {
    return [...this.#open.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * Looks whether somebody can answer for a name: a model that is served, or one that is not any more and that open
   * sequences began with.
   * @throws NotFoundError
   */
  checkThere(name: string, version?: string): void {
    try {
      this.host.find(name, version);
    } catch (error) {
      // No list is made for a name that is none.
      for (
        const { session: { served } } of this.#open.get(name)?.values() ?? []
      ) {
        if (version === undefined || served.version === version) return;
      }
      throw error;
    }
  }

  /**
   * The model that answers a request of a sequence: the one that it began with, whatever is loaded; of its first request,
   * what the name means now.
   * @throws NotFoundError; HttpError 400 when it has not begun, or was ended by anything but the server's own end: then
   * `take` throws, or its session does
   */
  servedOf(
    name: string,
    { id, isStart }: SequenceFlags,
    version?: string,
  ): ServedModel {
    if (isStart) return this.host.find(name, version);
    const sequence = this.#open.get(name)?.get(id);
    if (sequence === undefined || sequence.session.closed) {
      // It may be that there is no such model.
      const served = this.host.find(name, version);
      // All sequences are closed then: it is not its client who is wrong.
      if (!takesRequests(this.host.state)) return served;
      throw new HttpError(
        400,
        `Sequence "${
          shorten(id)
        }" of model "${name}" is not open: its first request says "sequence_start"`,
      );
    }
    const begunWith = sequence.session.served;
    if (version === undefined || version === begunWith.version) {
      return begunWith;
    }
    throw new HttpError(
      400,
      `Sequence "${
        shorten(id)
      }" of model "${name}" began with version "${begunWith.version}"`,
    );
  }

  /**
   * The stream of a request, which its first one opens. One that begins again ends what was before, computed or not. A
   * first one that is not computed has opened nothing, a last one has ended nothing, where there is room for its sequence
   * still: either may be sent again.
   * @throws OverloadedError when there are too many, UnavailableError when the server ends
   */
  take(
    served: ServedModel,
    { id, isStart, isEnd }: SequenceFlags,
  ): TakenSequence {
    const among = this.#openOf(served.name);
    const before = among.get(id);
    if (isStart && before) void this.#end(before);
    const sequence = isStart || before === undefined
      ? this.#begin(served, id, among)
      : before;
    clearTimeout(sequence.timer);
    sequence.asked++;
    if (isEnd) among.delete(id);
    return {
      session: sequence.session,
      leave: (isDone) => {
        sequence.asked--;
        // Since its last request came another one may have begun, under its id or in its room.
        const isGone = among.has(id) || among.size >= limitsOf(served).max;
        const isOver = isDone ? isEnd : isStart || isEnd && isGone;
        if (isOver) return void this.#end(sequence);
        if (isEnd) among.set(id, sequence);
        if (sequence.asked === 0) this.#watch(sequence);
      },
    };
  }

  #openOf(name: string): Map<string, Sequence> {
    let found = this.#open.get(name);
    if (found === undefined) this.#open.set(name, found = new Map());
    return found;
  }

  #begin(
    served: ServedModel,
    id: string,
    among: Map<string, Sequence>,
  ): Sequence {
    checkTakesRequests(this.host.state);
    const { max } = limitsOf(served);
    if (among.size >= max) {
      throw new OverloadedError(
        `${max} sequences of model "${served.name}" are open already`,
        RETRY_AFTER_MS,
      );
    }
    const session = this.host.open(served, { parkIdle: true });
    const sequence: Sequence = {
      ...{ id, among, session, asked: 0, timer: undefined },
    };
    among.set(id, sequence);
    return sequence;
  }

  /** Ends it when nobody asks for a while. */
  #watch(
    sequence: Sequence,
    idleMs = limitsOf(sequence.session.served).idleMs,
  ): void {
    if (sequence.among.get(sequence.id) !== sequence) return;
    const delayMs = timerMs(idleMs);
    sequence.timer = setTimeout(() => {
      if (delayMs === idleMs) void this.#end(sequence);
      else this.#watch(sequence, idleMs - delayMs);
    }, delayMs);
    // A program may end while streams are open.
    (sequence.timer as { unref?(): void }).unref?.();
  }

  #end(sequence: Sequence): Promise<void> {
    clearTimeout(sequence.timer);
    const { id, among } = sequence;
    if (among.get(id) === sequence) among.delete(id);
    return sequence.session.close();
  }
}

/** A sequence that a request is of. */
export interface TakenSequence {
  readonly session: HostSession;
  /** The request is over. @param isDone whether it was computed */
  leave(isDone: boolean): void;
}

/** Triton's `sequence_batching`. */
function limitsOf(
  { config }: ServedModel,
): { readonly idleMs: number; readonly max: number } {
  const settings = (config["sequence_batching"] ?? {}) as {
    readonly max_sequence_idle_microseconds?: number;
    readonly oldest?: { readonly max_candidate_sequences?: number };
  };
  const idleUs = settings.max_sequence_idle_microseconds ?? IDLE_US;
  return {
    idleMs: idleUs / US_PER_MS,
    max: settings.oldest?.max_candidate_sequences ?? SEQUENCES_MAX,
  };
}
