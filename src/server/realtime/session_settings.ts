/**
 * What a client may set of a realtime session (OpenAI's OpenAPI document, `RealtimeSessionCreateRequestGA`; the names in
 * use before, `input_audio_format` and `turn_detection`, as well). Voice activity is all there is: what would make the
 * server answer, transcribe or clean up is refused, what concerns answers that are never given is not looked at.
 */
import {
  anObject,
  FieldError,
  flag,
  ignored,
  integer,
  invalid,
  number,
  object,
  oneOf,
  optional,
  type Read,
  unsupported,
  withDefault,
} from "../wire/fields.ts";
import type { AudioFormat } from "./audio_formats.ts";
import { TURN_SETTINGS, type TurnSettings } from "./turn_detector.ts";

/** Settings in effect. */
export interface SessionSettings {
  readonly format: AudioFormat;
  /** Undefined: nobody looks for turns. */
  readonly turns: TurnSettings | undefined;
}

/** OpenAI's default: 16-bit PCM at 24 kHz, voice activity looked for. */
export const SESSION_SETTINGS: SessionSettings = {
  format: { encoding: "audio/pcm", samplesPerSecond: 24_000 },
  turns: TURN_SETTINGS,
};

/** Rates of PCM. OpenAI has 24 kHz only; a detector's own rate spares the conversion. */
const RATES = [8_000, 16_000, 24_000, 48_000] as const;

/** G.711's rate. */
const TELEPHONE = 8_000;

const MS_MAX = 60_000;

const ANSWERS = "nothing is answered, only voice activity is told";

const formatObject = object("a format", {
  type: oneOf(["audio/pcm", "audio/pcmu", "audio/pcma"]),
  rate: optional((value) => {
    if ((RATES as readonly unknown[]).includes(value)) return value as number;
    throw invalid(`one of ${RATES.join(", ")}`, value);
  }),
});

const format: Read<AudioFormat> = (value) => {
  const { type, rate } = formatObject(value);
  if (type === "audio/pcm") {
    return {
      encoding: type,
      samplesPerSecond: rate ?? SESSION_SETTINGS.format.samplesPerSecond,
    };
  }
  if (rate !== undefined && rate !== TELEPHONE) {
    throw new FieldError(`is ${TELEPHONE} of G.711`, "invalid", "rate");
  }
  return { encoding: type, samplesPerSecond: TELEPHONE };
};

const BEFORE: Readonly<Record<string, AudioFormat>> = {
  pcm16: SESSION_SETTINGS.format,
  g711_ulaw: { encoding: "audio/pcmu", samplesPerSecond: TELEPHONE },
  g711_alaw: { encoding: "audio/pcma", samplesPerSecond: TELEPHONE },
};

const formatName: Read<AudioFormat> = (value) => {
  const names = Object.keys(BEFORE);
  return BEFORE[oneOf(names)(value)];
};

const turnDetection = object("turn_detection", {
  type: oneOf(["server_vad"]),
  threshold: withDefault(number(0, 1), TURN_SETTINGS.threshold),
  prefix_padding_ms: withDefault(
    integer(0, MS_MAX),
    TURN_SETTINGS.prefixPaddingMs,
  ),
  silence_duration_ms: withDefault(
    integer(0, MS_MAX),
    TURN_SETTINGS.silenceDurationMs,
  ),
  create_response: unsupported(ANSWERS, false),
  interrupt_response: optional(flag),
  idle_timeout_ms: unsupported("nobody is asked whether they are still there"),
});

/** null: not to be looked for. */
const turns: Read<TurnSettings | null | undefined> = (value) => {
  if (value === undefined || value === null) return value;
  const read = turnDetection(value);
  return {
    threshold: read.threshold,
    prefixPaddingMs: read.prefix_padding_ms,
    silenceDurationMs: read.silence_duration_ms,
  };
};

const session = object("a session", {
  type: optional(oneOf(["realtime", "transcription"])),
  audio: optional(object("audio", {
    input: optional(object("input", {
      format: optional(format),
      turn_detection: turns,
      transcription: unsupported("nothing is transcribed"),
      noise_reduction: unsupported("audio is taken as it is"),
    })),
    output: ignored,
  })),
  input_audio_format: optional(formatName),
  turn_detection: turns,
  input_audio_transcription: unsupported("nothing is transcribed"),
  input_audio_noise_reduction: unsupported("audio is taken as it is"),
  tools: unsupported(ANSWERS, []),
  prompt: unsupported(ANSWERS),
  include: unsupported("there is nothing else to tell", []),
  // Of answers.
  model: ignored,
  modalities: ignored,
  output_modalities: ignored,
  instructions: ignored,
  voice: ignored,
  speed: ignored,
  temperature: ignored,
  max_output_tokens: ignored,
  max_response_output_tokens: ignored,
  output_audio_format: ignored,
  tool_choice: ignored,
  parallel_tool_calls: ignored,
  reasoning: ignored,
  tracing: ignored,
  truncation: ignored,
});

/**
 * Settings after an update: what it does not name stays.
 * @throws FieldError
 */
export function updatedSettings(
  before: SessionSettings,
  update: unknown,
): SessionSettings {
  const given = session(anObject(update));
  const input = given.audio?.input;
  const turns = input?.turn_detection !== undefined
    ? input.turn_detection
    : given.turn_detection;
  return {
    format: input?.format ?? given.input_audio_format ?? before.format,
    turns: turns === undefined ? before.turns : turns ?? undefined,
  };
}

/** Settings as events have them. */
export function sessionForm(
  id: string,
  model: string,
  { format, turns }: SessionSettings,
): unknown {
  const { encoding, samplesPerSecond } = format;
  return {
    type: "realtime",
    object: "realtime.session",
    id,
    model,
    output_modalities: [],
    audio: {
      input: {
        format: {
          type: encoding,
          ...(encoding === "audio/pcm" && { rate: samplesPerSecond }),
        },
        transcription: null,
        noise_reduction: null,
        turn_detection: turns === undefined ? null : {
          type: "server_vad",
          threshold: turns.threshold,
          prefix_padding_ms: turns.prefixPaddingMs,
          silence_duration_ms: turns.silenceDurationMs,
          create_response: false,
          interrupt_response: false,
        },
      },
    },
  };
}
