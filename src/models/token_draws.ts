/**
 * How decoders take tokens where requests may say so: drawn, of scores that they may change. Of a file and of `gpt`
 * alike: the same fields give the same tokens for the same scores. Settings and draws are rows of the request, the draw
 * that of its step's number, so that they are the same in every batch; tokens so far are handed on from step to step.
 */
import { shorten } from "../base/describe.ts";
import { Prng } from "../base/prng.ts";
import {
  f32,
  i32,
  type Operators,
  type PortSpec,
} from "../graph/cell_builder.ts";
import type { CellGraph, CellNode, Source } from "../graph/cell_graph.ts";
import type { Value } from "../graph/operator.ts";
import {
  changesScores,
  historyOf,
  PENALTIES,
  penaltyRow,
} from "../plain/penalties.ts";
import { runSampleToken } from "../plain/sample_token.ts";
import { tensor } from "../tensor/tensor.ts";
import {
  DRAW_FIELDS,
  type Draws,
  PENALTY_FIELDS,
  readDraws,
  SETTINGS,
} from "./draw_input.ts";

/** Options of a decoder. */
export interface DrawOptions {
  /**
   * Whether requests may say how tokens are drawn (`temperature`, `topK`, `topP`, `minP`, `seed`); default false: the
   * token of the largest score, the lowest id of equal ones.
   */
  readonly sample?: boolean;
  /**
   * Whether requests may change scores, of tokens that are drawn or not (`repetitionPenalty`, `presencePenalty`,
   * `frequencyPenalty`, `noRepeatNgramSize`, `minTokens`, `logitBias`). Whoever does hands the tokens so far on from step
   * to step, of as many as `positionsMax`: slots take 8 bytes more for each of these, and 4 more of whoever does. Default
   * false.
   */
  readonly penalties?: boolean;
  /** Whether a request also gets the scores of every step, result `scores`; default false. */
  readonly scores?: boolean;
}

/** Results of decoders. */
export interface DecoderOutputs {
  /** One id for each step, the one that ends it included. */
  readonly tokens: "i32";
  /** With the option `scores`: for each step the scores of all tokens, those that are never chosen included. */
  readonly scores?: "f32";
}

/** What a decoder says of it. */
export interface DrawingModel {
  /** Whether requests may say how tokens are drawn. */
  readonly isSampled: boolean;
  /** Whether requests may change scores. */
  readonly isPenalised: boolean;
}

/** What tokens there are. */
interface DrawnTokens extends DrawOptions {
  /** Ids that have scores, from 0 on. */
  readonly vocabulary: number;
  /** Ids that are never chosen. */
  readonly banned: readonly number[];
  /** Ids that end a request. */
  readonly ends: readonly number[];
  /** Most positions of a request. */
  readonly positionsMax: number;
}

/** A token; of who has penalties the tokens so far and this one; of several that may end a request whether it does. */
interface NextToken {
  readonly next: Value;
  readonly history?: Value;
  readonly ended?: Value;
}

/** What is added to scores of tokens that are never chosen, where nothing else changes scores. */
const BANNED = -1e30;

/** Draws are below 1 in f32, too: the least likely of all tokens would be that of 1. */
const BELOW_ONE = 1 - 2 ** -24;

/** The place of the largest number, itself a number without axes, which rows that have axes do not leave. */
function placeOf(op: Operators, row: Value): Value {
  const place = op.ArgMax(row);
  return place.shape ? op.Reshape(place, []) : place;
}

/** Of one decoder, whose requests bring ids and positions before what is brought here. */
export class TokenDraws implements DrawingModel {
  readonly isSampled: boolean;
  readonly isPenalised: boolean;
  /** Whether SampleToken takes tokens: one of the two. */
  readonly isUsed: boolean;
  /** Fields of a request. */
  readonly fields: readonly string[];
  /** Inputs of the cell that takes tokens. */
  readonly ports: Readonly<Record<string, PortSpec>>;

  /**
   * @param name of the model
   * @throws RangeError where no token is left
   */
  constructor(readonly name: string, readonly tokens: DrawnTokens) {
    const { vocabulary, banned, positionsMax } = tokens;
    if (new Set(banned).size === vocabulary) {
      throw new RangeError(
        `All ${vocabulary} tokens of "${shorten(name)}" are banned`,
      );
    }
    this.isSampled = tokens.sample ?? false;
    this.isPenalised = tokens.penalties ?? false;
    this.isUsed = this.isSampled || this.isPenalised;
    this.fields = [
      ...(this.isSampled ? DRAW_FIELDS : []),
      ...(this.isPenalised ? PENALTY_FIELDS : []),
    ];
    this.ports = {
      ...(this.isUsed && { settings: f32(SETTINGS), draw: f32(1) }),
      ...(this.isPenalised && {
        history: i32(positionsMax),
        penalties: f32(PENALTIES),
      }),
    };
  }

  /**
   * The token that follows: that of the largest score, or the one that SampleToken takes.
   * @param scores of all tokens, banned ones included
   * @param inputs those of `ports`
   */
  next(
    op: Operators,
    scores: Value,
    inputs: Readonly<Record<string, Value>>,
  ): NextToken {
    const taken: NextToken = this.isUsed
      ? this.#sampled(op, scores, inputs)
      : { next: placeOf(op, this.#unbanned(op, scores)) };
    const { length } = this.tokens.ends;
    return length > 1
      ? { ...taken, ended: this.#isEnd(op, taken.next) }
      : taken;
  }

  /** Of the cell that takes tokens: what ends a request. */
  get stop(): { output: "next" | "ended"; token: number | null } {
    const [end, ...others] = this.tokens.ends;
    return others.length > 0
      ? { output: "ended", token: 1 }
      : { output: "next", token: end ?? null };
  }

  /** 1 where a token is one that ends a request: the second of two numbers is the larger one. */
  #isEnd(op: Operators, token: Value): Value {
    const { vocabulary, ends } = this.tokens;
    const table = new Float32Array(2 * vocabulary);
    for (const id of ends) table[2 * id + 1] = 1;
    return placeOf(op, op.Gather(tensor([vocabulary, 2], table), token));
  }

  /** Where the largest score's token is taken, banned ones are far below all others. */
  #unbanned(op: Operators, scores: Value): Value {
    const { vocabulary, banned } = this.tokens;
    if (banned.length === 0) return scores;
    const bias = new Float32Array(vocabulary);
    for (const id of banned) bias[id] = BANNED;
    return op.Add(scores, op.Constant(tensor([vocabulary], bias)));
  }

  #sampled(
    op: Operators,
    scores: Value,
    { settings, draw, history, penalties }: Readonly<Record<string, Value>>,
  ): NextToken {
    const handedOn = history &&
      { dtype: "i32", dims: [history.width] } as const;
    const [next, after] = op.Plain({
      name: "SampleToken",
      opset: 1,
      attributes: new Map([
        ["banned", { kind: "ints", value: this.tokens.banned }],
        ["ends", { kind: "ints", value: this.tokens.ends }],
      ]),
      inputs: [
        ...[scores, settings, draw],
        ...(history ? [history, penalties] : []),
      ],
      outputs: [{ dtype: "i32", dims: [] }, ...(handedOn ? [handedOn] : [])],
      run: runSampleToken,
    });
    return { next, ...(handedOn && { history: after }) };
  }

  /** @throws RequestFieldError */
  read(input: Readonly<Record<string, unknown>>): Draws {
    return readDraws(this.name, input, this.tokens.vocabulary);
  }

  /** What a request brings behind its ids and positions. */
  bring(
    graph: CellGraph,
    prompt: Int32Array,
    steps: number,
    { settings, seed, penalties }: Draws,
  ): void {
    if (this.isUsed) {
      graph.rows(settings);
      // Forked: first draws of seeds that are near each other are, too.
      const draws = new Prng(seed).fork("draws");
      graph.rows(
        Array.from({ length: steps }, () => Math.min(draws.float(), BELOW_ONE)),
      );
    }
    if (this.isPenalised) {
      const row = penaltyRow(penalties, prompt.length);
      graph.data(row);
      if (changesScores(row)) {
        graph.data(historyOf(prompt, this.tokens.positionsMax));
      }
    }
  }

  /**
   * Where a step's inputs come from.
   * @param position of the token that goes in
   * @param before what took the token of the step before; undefined: it is the first one
   */
  sources(
    graph: CellGraph,
    position: number,
    before: CellNode | undefined,
  ): Record<string, Source> {
    const [ids, , settings, draws, penalties, prompt] = graph.inputs;
    const sources: Record<string, Source> = {};
    if (this.isUsed) {
      sources["settings"] = graph.row(settings, 0, SETTINGS);
      sources["draw"] = graph.row(draws, position - ids.data.length + 1, 1);
    }
    if (this.isPenalised) {
      const { positionsMax } = this.tokens;
      sources["penalties"] = graph.row(penalties, 0, PENALTIES);
      sources["history"] = before
        ? graph.output(before, "history")
        : changesScores(penalties.data as Float32Array)
        ? graph.row(prompt, 0, positionsMax)
        : graph.zeros(positionsMax);
    }
    return sources;
  }
}
