/**
 * A realtime session as far as voice activity goes (OpenAI's OpenAPI document, `/v1/realtime`): audio comes in, what a
 * detector of speech makes of it goes out as events. Events are done in the order in which they come; frames of one
 * event are pushed at once, so that those of all sessions share batches.
 * Deviation: nothing is answered, and committed audio is not kept; there is nothing that would read it.
 */
import { shorten } from "../../base/describe.ts";
import {
  anObject,
  FieldError,
  fieldOf,
  type Read,
  text,
} from "../wire/fields.ts";
import { decodeAudio } from "./audio_formats.ts";
import { Resampler } from "./resampler.ts";
import {
  SESSION_SETTINGS,
  sessionForm,
  type SessionSettings,
  updatedSettings,
} from "./session_settings.ts";
import { TURN_SETTINGS, TurnDetector } from "./turn_detector.ts";

/** A detector's stream. */
export interface SpeechStream {
  readonly samplesPerSecond: number;
  /** Samples of a frame. */
  readonly frameSamples: number;
  /** Frames that may be under way at once. */
  readonly framesAhead: number;
  /** The probability that there is speech in the next frame. */
  push(frame: Float32Array): Promise<number>;
}

/** What a session has of its connection. */
export interface SessionDoor {
  readonly id: string;
  /** What the client calls the detector. */
  readonly model: string;
  readonly stream: SpeechStream;
  /** Sends an event. */
  send(event: Readonly<Record<string, unknown>>): void;
  /** What a client is told of an error that is not its own. */
  describe(error: unknown): string;
}

/** One client's. */
export class RealtimeSession {
  readonly #door: SessionDoor;
  readonly #turns = new TurnDetector(TURN_SETTINGS);
  #settings: SessionSettings = SESSION_SETTINGS;
  #resampler: Resampler;
  /** Samples at the detector's rate that are no whole frame yet. */
  #rest = new Float32Array();
  /** Frames that the detector has seen. */
  #frames = 0;
  /** Milliseconds of audio since the last commit. */
  #bufferedMs = 0;
  #events = 0;
  #items = 0;
  /** Of the turn under way. */
  #item: string | undefined;
  #committed: string | null = null;

  constructor(door: SessionDoor) {
    this.#door = door;
    this.#resampler = this.#newResampler();
    this.#send("session.created", { session: this.#form() });
  }

  /** Does what an event asks for; resolves when it is done. Another one is given when the one before is done. */
  async receive(message: string): Promise<void> {
    let id: unknown;
    try {
      const event = anObject(parsed(message));
      id = event.event_id;
      await this.#do(event);
    } catch (error) {
      this.#refuse(error, typeof id === "string" ? id : null);
    }
  }

  #do(event: Readonly<Record<string, unknown>>): Promise<void> | void {
    switch (event.type) {
      case "session.update":
        return this.#update(
          fieldOf(
            event,
            "session",
            (update) => updatedSettings(this.#settings, update),
          ),
        );
      case "input_audio_buffer.append":
        return this.#append(fieldOf(event, "audio", this.#samples));
      case "input_audio_buffer.commit":
        return this.#commit();
      case "input_audio_buffer.clear":
        return this.#clear();
    }
    throw new FieldError(
      typeof event.type === "string"
        ? `is session.update or input_audio_buffer.append, .commit or .clear here, got ${
          JSON.stringify(shorten(event.type))
        }`
        : "is required",
      event.type === undefined ? "missing" : "unsupported",
      "type",
    );
  }

  #update(settings: SessionSettings): void {
    const { format } = this.#settings;
    const isSame = settings.format.encoding === format.encoding &&
      settings.format.samplesPerSecond === format.samplesPerSecond;
    this.#settings = settings;
    if (!isSame) this.#resampler = this.#newResampler();
    this.#turns.settings = settings.turns ?? TURN_SETTINGS;
    if (settings.turns === undefined) this.#silence();
    this.#send("session.updated", { session: this.#form() });
  }

  async #append(samples: Float32Array): Promise<void> {
    this.#bufferedMs += 1000 * samples.length /
      this.#settings.format.samplesPerSecond;
    await this.#detect(this.#resampler.push(samples));
  }

  #samples: Read<Float32Array> = (audio) => {
    const bytes = base64Bytes(text(audio));
    try {
      return decodeAudio(bytes, this.#settings.format.encoding);
    } catch (error) {
      throw new FieldError(
        `has parts of samples: ${(error as Error).message}`,
        "invalid",
      );
    }
  };

  /** Whole frames go to the detector, the rest waits for more. */
  async #detect(samples: Float32Array): Promise<void> {
    const { stream } = this.#door;
    const size = stream.frameSamples;
    const all = new Float32Array(this.#rest.length + samples.length);
    all.set(this.#rest);
    all.set(samples, this.#rest.length);
    const count = Math.floor(all.length / size);
    this.#rest = all.slice(count * size);
    for (let first = 0; first < count; first += stream.framesAhead) {
      const ahead = Math.min(stream.framesAhead, count - first);
      const pushed = Array.from({ length: ahead }, (_, i) => {
        const at = (first + i) * size;
        return stream.push(all.subarray(at, at + size));
      });
      // A frame that fails is told of when those before it have been.
      const results = await Promise.allSettled(pushed);
      for (const result of results) {
        this.#frames++;
        if (result.status === "rejected") {
          this.#refuse(result.reason, null);
        } else this.#turn(result.value);
      }
    }
  }

  #turn(speech: number): void {
    if (this.#settings.turns === undefined) return;
    const { frameSamples, samplesPerSecond } = this.#door.stream;
    const frameMs = 1000 * frameSamples / samplesPerSecond;
    const toMs = this.#frames * frameMs;
    const turn = this.#turns.frame(speech, toMs - frameMs, toMs);
    if (turn?.kind === "started") {
      this.#item = this.#newItem();
      this.#send("input_audio_buffer.speech_started", {
        audio_start_ms: Math.round(turn.startMs),
        item_id: this.#item,
      });
    } else if (turn?.kind === "stopped") {
      this.#send("input_audio_buffer.speech_stopped", {
        audio_end_ms: Math.round(turn.endMs),
        item_id: this.#item,
      });
      this.#commit();
    }
  }

  #commit(): void {
    if (this.#bufferedMs === 0) {
      throw new EmptyBufferError("the audio buffer is empty");
    }
    const item = this.#item ?? this.#newItem();
    this.#send("input_audio_buffer.committed", {
      previous_item_id: this.#committed,
      item_id: item,
    });
    this.#committed = item;
    this.#bufferedMs = 0;
    this.#silence();
  }

  #clear(): void {
    this.#rest = new Float32Array();
    this.#bufferedMs = 0;
    this.#silence();
    this.#send("input_audio_buffer.cleared", {});
  }

  /** The turn under way, if there is one, is none. */
  #silence(): void {
    this.#turns.reset();
    this.#item = undefined;
  }

  #refuse(error: unknown, event: string | null): void {
    const isField = error instanceof FieldError;
    const isClients = isField || error instanceof EmptyBufferError;
    this.#send("error", {
      error: {
        type: isClients ? "invalid_request_error" : "server_error",
        code: isField
          ? "invalid_event"
          : isClients
          ? "input_audio_buffer_commit_empty"
          : null,
        message: isClients ? error.message : this.#door.describe(error),
        param: isField && error.field !== "" ? error.field : null,
        event_id: event,
      },
    });
  }

  #send(type: string, fields: Readonly<Record<string, unknown>>): void {
    const { id } = this.#door;
    this.#door.send({
      event_id: `event_${id}_${++this.#events}`,
      type,
      ...fields,
    });
  }

  #newItem(): string {
    return `item_${this.#door.id}_${++this.#items}`;
  }

  #newResampler(): Resampler {
    return new Resampler(
      this.#settings.format.samplesPerSecond,
      this.#door.stream.samplesPerSecond,
    );
  }

  #form(): unknown {
    return sessionForm(
      `sess_${this.#door.id}`,
      this.#door.model,
      this.#settings,
    );
  }
}

/** There is nothing to commit. */
class EmptyBufferError extends Error {}

function parsed(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    throw new FieldError("is not JSON", "invalid");
  }
}

function base64Bytes(audio: string): Uint8Array {
  let characters: string;
  try {
    characters = atob(audio);
  } catch {
    throw new FieldError("is base64, got other characters", "invalid");
  }
  return Uint8Array.from(characters, (character) => character.charCodeAt(0));
}
