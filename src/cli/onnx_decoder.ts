/** What commands on ONNX files have in common where the file is one step of a decoder. */
import { describe } from "../base/describe.ts";
import { isFloat32, isPositiveFloat32 } from "../base/float32.ts";
import { POSITIONS_MAX } from "../onnx/decoder/options.ts";
import type {
  DecoderInput,
  OnnxDecoder,
} from "../onnx/decoder/decoder_model.ts";
import { loadOnnx } from "../onnx/load.ts";
import { type FileOptions, givenOf, loading, sidesOf } from "./onnx_file.ts";
import { integerOf, seedOption } from "./options.ts";
import { UsageError } from "./terminal.ts";

/** Options of such a command. */
export const DECODER_OPTIONS = {
  decoder: { type: "boolean" },
  token: { type: "string" },
  logits: { type: "string" },
  state: { type: "string", multiple: true },
  stop: { type: "string" },
  "positions-max": { type: "string" },
} as const;

/** Lines of help about them. */
export const DECODER_HELP =
  `  --decoder         the file is one step of a decoder: requests grow by a token in every step
  --token NAME      of a decoder, which input is the token's id, where the file does not say
  --logits NAME     and which output the scores are
  --state IN=OUT    of a decoder, which output a state comes out as; for names that are not past... and present...
  --stop ID,ID      ids of tokens that end a request
  --positions-max N most positions of a request (default 1024, or as many as the file has)`;

/** Options of a request. */
export const TOKENS_OPTIONS = {
  tokens: { type: "string" },
  steps: { type: "string" },
  temperature: { type: "string" },
  "top-k": { type: "string" },
  "top-p": { type: "string" },
  "min-p": { type: "string" },
  seed: { type: "string" },
  "repetition-penalty": { type: "string" },
  "presence-penalty": { type: "string" },
  "frequency-penalty": { type: "string" },
  "no-repeat-ngram-size": { type: "string" },
  "min-tokens": { type: "string" },
} as const;

/** Lines of help about them. */
export const TOKENS_HELP =
  `  --tokens ID,ID    of a decoder, the tokens that the answer follows
  --steps N         most steps of it (default: as many as there are positions)
  --temperature T   draws tokens, from scores over T; without it the token of the largest score is taken
  --top-k N         draws from the N tokens of the largest scores
  --top-p P         draws from the fewest tokens that have this share of the whole
  --min-p P         draws from tokens that are at least P times as likely as the likeliest one
  --seed N          of the draws (default 0)
  --repetition-penalty P  divides scores above 0 of tokens that were there by P, and multiplies others
  --presence-penalty P    takes P from scores of tokens that the answer has
  --frequency-penalty P   takes P from them for each time
  --no-repeat-ngram-size N  has no run of N tokens come twice
  --min-tokens N    takes none of the ids that end an answer before it has N tokens`;

/** What a request draws by. */
interface Draws {
  readonly temperature?: string;
  readonly "top-k"?: string;
  readonly "top-p"?: string;
  readonly "min-p"?: string;
  readonly seed?: string;
  readonly "repetition-penalty"?: string;
  readonly "presence-penalty"?: string;
  readonly "frequency-penalty"?: string;
  readonly "no-repeat-ngram-size"?: string;
  readonly "min-tokens"?: string;
}

/** Options of draws that mean something with a temperature alone. */
const WITH_TEMPERATURE = ["top-k", "top-p", "min-p", "seed"] as const;

/** Options that change scores, drawn or not, and a request's fields. */
const PENALTIES = {
  "repetition-penalty": "repetitionPenalty",
  "presence-penalty": "presencePenalty",
  "frequency-penalty": "frequencyPenalty",
  "no-repeat-ngram-size": "noRepeatNgramSize",
  "min-tokens": "minTokens",
} as const;

const PENALTY_OPTIONS = Object.keys(PENALTIES) as (keyof typeof PENALTIES)[];

interface DecoderFile extends Draws, FileOptions {
  readonly decoder?: boolean;
  readonly token?: string;
  readonly logits?: string;
  readonly state?: readonly string[];
  readonly stop?: string;
  readonly "positions-max"?: string;
}

/** Options that mean something to decoders alone. */
const THEIRS = [
  ...([
    "token",
    "logits",
    "state",
    "stop",
    "positions-max",
    "tokens",
    "steps",
  ] as const),
  ...(["temperature", ...WITH_TEMPERATURE] as const),
  ...PENALTY_OPTIONS,
];

/**
 * Loads the file that a command names, as a decoder.
 * @throws UsageError saying what is wrong with it or with an option
 */
export function loadDecoder(
  command: string,
  path: string | undefined,
  given: DecoderFile,
): Promise<OnnxDecoder> {
  if (given.cells !== undefined) {
    throw new UsageError("--cells is none of --decoder");
  }
  const { token, logits, state, stop, "positions-max": positions } = given;
  return loading(command, path, (source) =>
    loadOnnx(source, {
      ...givenOf(given),
      decoder: {
        ...(token !== undefined && { token }),
        ...(logits !== undefined && { logits }),
        ...(state && {
          states: Object.fromEntries(
            state.map((text) => sidesOf("state", text)),
          ),
        }),
        ...(stop !== undefined && { stop: idsOf("stop", stop) }),
        ...(given.temperature !== undefined && { sample: true }),
        ...(PENALTY_OPTIONS.some((option) => given[option] !== undefined) && {
          penalties: true,
        }),
        ...(positions !== undefined && {
          positionsMax: integerOf("--positions-max", positions, {
            min: 1,
            max: POSITIONS_MAX,
          }),
        }),
      },
    }));
}

/** @throws UsageError on options of decoders where none is asked for */
export function refuseDecoderOptions(
  given: DecoderFile & { readonly tokens?: string; readonly steps?: string },
): void {
  for (const option of THEIRS) {
    if (given[option] === undefined) continue;
    throw new UsageError(`--${option} is one of --decoder, which is missing`);
  }
}

/** The request that a command describes. @throws UsageError when there is none */
export function decoderRequest(
  { positionsMax }: OnnxDecoder,
  { tokens, steps, ...draws }: Draws & {
    readonly tokens?: string;
    readonly steps?: string;
  },
): DecoderInput {
  if (tokens === undefined) {
    throw new UsageError("--tokens are missing, such as --tokens 1,2,3");
  }
  const ids = idsOf("tokens", tokens);
  if (ids.length > positionsMax) {
    throw new UsageError(
      `--tokens are ${ids.length}, and the model has ${positionsMax} positions (--positions-max)`,
    );
  }
  return {
    tokens: ids,
    ...(steps !== undefined && {
      maxSteps: integerOf("--steps", steps, {
        min: 1,
        // What the prompt leaves.
        max: positionsMax - ids.length + 1,
      }),
    }),
    ...settingsOf(draws),
    ...penaltiesOf(draws),
  };
}

/** @throws UsageError on one that is none */
function penaltiesOf(draws: Draws): Partial<DecoderInput> {
  return Object.fromEntries(PENALTY_OPTIONS.flatMap((option) => {
    const text = draws[option];
    if (text === undefined) return [];
    const value = option === "repetition-penalty"
      ? numberOf(option, text, "above 0", isPositiveFloat32)
      : option === "no-repeat-ngram-size" || option === "min-tokens"
      ? integerOf(`--${option}`, text, { min: 0, max: 2 ** 31 - 1 })
      : numberOf(option, text, "that f32 has", isFloat32);
    return [[PENALTIES[option], value]];
  }));
}

/** @throws UsageError on a setting that is none, or that nothing is drawn by */
function settingsOf(draws: Draws): Partial<DecoderInput> {
  const { temperature, "top-k": topK, "top-p": topP, "min-p": minP, seed } =
    draws;
  if (temperature === undefined) {
    const other = WITH_TEMPERATURE.find((option) =>
      draws[option] !== undefined
    );
    if (other === undefined) return {};
    throw new UsageError(
      `--${other} is one of --temperature, without which nothing is drawn`,
    );
  }
  return {
    temperature: numberOf("temperature", temperature, "above 0", (t) => t > 0),
    ...(topK !== undefined && {
      topK: integerOf("--top-k", topK, { min: 1, max: 2 ** 31 - 1 }),
    }),
    ...(topP !== undefined && {
      topP: numberOf(
        "top-p",
        topP,
        "above 0 and up to 1",
        (p) => p > 0 && p <= 1,
      ),
    }),
    ...(minP !== undefined && {
      minP: numberOf("min-p", minP, "from 0 to 1", (p) => p >= 0 && p <= 1),
    }),
    ...(seed !== undefined && { seed: seedOption(seed) }),
  };
}

/** @throws UsageError unless the text is a number that holds */
function numberOf(
  option: string,
  text: string,
  what: string,
  holds: (value: number) => boolean,
): number {
  const value = text.trim() === "" ? NaN : Number(text);
  if (Number.isFinite(value) && holds(value)) return value;
  throw new UsageError(
    `--${option} is a number ${what}, got ${describe(text)}`,
  );
}

function idsOf(option: string, text: string): number[] {
  if (text === "") {
    throw new UsageError(`--${option} is a list of ids, got ${describe(text)}`);
  }
  return text.split(",").map((id) =>
    integerOf(`each of --${option}`, id, { min: 0, max: 2 ** 31 - 1 })
  );
}
