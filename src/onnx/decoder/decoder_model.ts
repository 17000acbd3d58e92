/** A decoder's step, read from a file, as a model whose requests grow token by token. */
import { checkedOptions } from "../../base/checked_options.ts";
import type { CellGraph, CellNode, Source } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import { nodesMaxFor } from "../../graph/nodes_max.ts";
import type { OutputTypes } from "../../graph/result.ts";
import type { Value } from "../../graph/operator.ts";
import { checkKeys, checkObject, readTokens } from "../../models/checks.ts";
import type { DrawInput, PenaltyInput } from "../../models/draw_input.ts";
import { BEHIND_PROMPT, readMaxSteps } from "../../models/seq2seq_input.ts";
import {
  type DecoderOutputs,
  type DrawingModel,
  TokenDraws,
} from "../../models/token_draws.ts";
import { constantTensors, type GivenConstants } from "../given_constants.ts";
import { elementCount } from "../../tensor/tensor.ts";
import {
  checkInputs,
  elementsOf,
  type InputSpec,
  type OnnxInput,
} from "../input_tensors.ts";
import { FILE_CHECKS } from "../file_checks.ts";
import type { OnnxModel } from "../ir.ts";
import {
  type CellFrame,
  dtypeOf,
  type LoweredGraph,
  lowerGraph,
} from "../lower/lower_graph.ts";
import { Place, quoted } from "../place.ts";
import { plainNotes } from "../plain_notes.ts";
import type { GivenSizes } from "../sizes.ts";
import { EncoderCell } from "./encoder_cell.ts";
import { withConstants } from "./constants.ts";
import { checkedDecoder, type DecoderOptions } from "./options.ts";
import {
  type DecoderStep,
  decoderStep,
  livingNodes,
  POSITION,
  TOKEN,
} from "./decoder_step.ts";

/** What a request to a decoder that was read from a file brings. */
export interface DecoderInput extends DrawInput, PenaltyInput {
  /** Ids that the answer follows, at least one. */
  readonly tokens: ArrayLike<number>;
  /** Most steps; default: `stepsMax`, or as many as there are positions left. */
  readonly maxSteps?: number;
  /**
   * Initial states, zeros by default, and the step's other inputs, by the file's names: what an encoder gave, of as many
   * positions as it saw.
   */
  readonly inputs?: OnnxInput;
}

/** A decoder that was read from a file. */
export interface OnnxDecoder
  extends Model<DecoderInput, DecoderOutputs & OutputTypes>, DrawingModel {
  /** What a request may bring besides tokens: states, and what every step reads. */
  readonly inputs: readonly InputSpec[];
  /** Most positions of a request, prompt and answer. */
  readonly positionsMax: number;
  /** Ids that there are, from 0 on. */
  readonly vocabulary: number;
  /** Ids that end a request, as the option `stop` has them. */
  readonly stop: readonly number[];
  /** What is not as in the file, and what runs in plain TypeScript, in sentences. */
  readonly notes: readonly string[];
}

/** How a file that is one step of a decoder becomes a model. */
export interface DecoderModelOptions extends GivenSizes {
  /** What records and options by model call it; default: the file's name. */
  readonly name?: string;
  /** What its inputs and outputs are; nothing of it is needed where they have the names that exporters give them. */
  readonly decoder: DecoderOptions;
  /** As of other files: weights that a file leaves out, or inputs that are always the same. */
  readonly constants?: GivenConstants;
}

/** Of the options of a decoder. */
export const DECODER_CHECKS = {
  ...FILE_CHECKS,
  decoder: (_: string, value: unknown) => {
    checkedDecoder(value as DecoderOptions);
  },
};

/** @throws OnnxError naming what is no step of a decoder; TypeError or RangeError on other options */
export function decoderModel(
  file: OnnxModel,
  options: DecoderModelOptions,
): OnnxDecoder {
  const { name = file.label, decoder, constants = new Map(), ...sizes } =
    checkedOptions("loadOnnx of a decoder", options, DECODER_CHECKS, [
      "decoder",
    ]);
  const given = checkedDecoder(decoder);
  const place = new Place(file.label);
  const tensors = constantTensors(file.graph, constants, sizes, place);
  const whole = withConstants(file, tensors);
  const step = decoderStep(whole, given, sizes, place);
  for (const id of [...given.stop ?? [], ...given.banned ?? []]) {
    if (id < step.vocabulary) continue;
    throw new RangeError(
      `There is no token ${id} to stop at or to ban: ${
        quoted(name)
      } has ${step.vocabulary}`,
    );
  }
  return new Decoder(name, step, given, place).model(file.notes);
}

class Decoder {
  readonly #step: LoweredGraph;
  readonly #prefill: LoweredGraph;
  /** Of what an encoder saw, before all others. */
  readonly #encoder: EncoderCell | undefined;
  /** Whether a prompt is one node; otherwise one for each token. */
  readonly #isRagged: boolean;
  readonly #specs: readonly InputSpec[];
  readonly #draws: TokenDraws;

  constructor(
    readonly name: string,
    readonly step: DecoderStep,
    readonly options: DecoderOptions,
    readonly place: Place,
  ) {
    const { states, others, caches, positionsMax, vocabulary } = step;
    const { banned = [], stop = [], sample, penalties } = options;
    this.#draws = new TokenDraws(name, {
      ...{ vocabulary, banned, positionsMax, ends: stop },
      ...{ sample: sample ?? false, penalties: penalties ?? false },
    });
    for (const { input, initial } of states) {
      if (initial) checkInputs(name, [this.#spec(input)], { [input]: initial });
    }
    this.#isRagged = states.length + others.length === 0;
    this.#specs = [...states.map(({ input }) => input), ...others].map(
      (name) => this.#spec(name),
    );
    const specs = caches.map(({ keyWidth, valueWidth, isSeen }) => ({
      ...{ keyWidth, valueWidth },
      positionsMax: isSeen ? step.encoder!.most : positionsMax,
    }));
    const frame = { caches: specs };
    this.#encoder = step.encoder && new EncoderCell(
      `${name}/encoder`,
      step.encoder,
      specs.filter((_, i) => caches[i].isSeen),
      place,
    );
    const stateOutputs = (result: (name: string) => Value) =>
      Object.fromEntries(
        states.map(({ output }, i) => [`state${i}`, result(output)]),
      );
    const stateNames = states.map(({ output }) => output);
    this.#prefill = this.#lower(`${name}/prefill`, stateNames, {
      ...frame,
      ...(this.#isRagged
        ? { tokensMax: Math.max(1, positionsMax - 1) }
        : { phase: "encoder", recurrent: true }),
      outputs: (_, result) => stateOutputs(result),
    });
    this.#step = this.#lower(`${name}/step`, [step.logits, ...stateNames], {
      ...frame,
      ...{ phase: "decoder", recurrent: true, priority: 1 },
      inputs: this.#draws.ports,
      outputs: (op, result, inputs) => {
        const scores = op.Reshape(result(step.logits), [vocabulary]);
        return {
          ...this.#draws.next(op, scores, inputs),
          ...(options.scores && { scores }),
          ...stateOutputs(result),
        };
      },
      stop: this.#draws.stop,
    });
  }

  #spec(name: string): InputSpec {
    const { type, dims } = this.step.known.get(name)!;
    const dtype = dtypeOf(type) ??
      this.place.fail(`${quoted(name)} is ${type}, of which there are no rows`);
    return { name, dtype, shape: dims };
  }

  #lower(
    name: string,
    outputs: readonly string[],
    frame: CellFrame,
  ): LoweredGraph {
    const { graph, known } = this.step;
    const nodes = livingNodes(graph.nodes, outputs);
    const part = {
      ...graph,
      nodes,
      outputs: outputs.map((name) => ({ name, ...known.get(name)! })),
    };
    return lowerGraph(part, known, name, this.place, frame);
  }

  model(notes: readonly string[]): OnnxDecoder {
    const { name, step } = this;
    return {
      name,
      cells: [
        ...(this.#encoder ? [this.#encoder.lowered.cell] : []),
        ...[this.#prefill.cell, this.#step.cell],
      ],
      shape: "chain",
      outputs: { tokens: "i32", ...(this.options.scores && { scores: "f32" }) },
      nodesMax: nodesMaxFor(2 * step.positionsMax + 1),
      inputs: [...this.#specs, ...this.#encoder?.inputs ?? []],
      positionsMax: step.positionsMax,
      vocabulary: step.vocabulary,
      stop: this.options.stop ?? [],
      isSampled: this.#draws.isSampled,
      isPenalised: this.#draws.isPenalised,
      notes: [
        ...notes,
        ...step.notes,
        ...plainNotes([
          ...(this.#encoder ? [this.#encoder.lowered] : []),
          this.#step,
        ]),
      ],
      check: (input): asserts input is DecoderInput => {
        this.#read(input);
      },
      unfold: (input, graph) => this.#unfold(input, graph),
      grow: (node, graph) => this.#grow(node, graph),
    };
  }

  #read(input: unknown) {
    const { name, step: { tokens: vocabulary, positionsMax, states } } = this;
    checkObject(name, input);
    checkKeys(name, input, [
      ...["tokens", "maxSteps", "inputs"],
      ...this.#draws.fields,
    ]);
    const tokens = readTokens(
      name,
      input["tokens"],
      vocabulary,
      positionsMax,
      "tokens",
      "positionsMax",
    );
    const left = positionsMax - tokens.length + 1;
    const steps = readMaxSteps(name, input["maxSteps"], {
      steps: this.options.stepsMax ?? left,
      stepsMax: left,
      from: BEHIND_PROMPT,
    });
    const given = (input["inputs"] ?? {}) as OnnxInput;
    checkObject(name, given);
    const isState = new Set(states.map(({ input }) => input));
    checkInputs(
      name,
      [...this.#specs, ...this.#encoder?.inputs ?? []].filter((spec) =>
        !isState.has(spec.name) || given[spec.name] !== undefined
      ),
      given,
    );
    return { tokens, steps, given, draws: this.#draws.read(input) };
  }

  #unfold(input: DecoderInput, graph: CellGraph): void {
    const { tokens, steps, given, draws } = this.#read(input);
    const { length } = tokens;
    const last = length - 1;
    const ids = graph.ids(tokens);
    graph.ids(Array.from({ length: last + steps }, (_, i) => i));
    this.#draws.bring(graph, tokens, steps, draws);
    const seen = this.#encoder?.length(given) ?? 0;
    this.#step.cell.caches.forEach((cache, i) => {
      const { isSeen } = this.step.caches[i];
      graph.cache(cache, isSeen ? seen : last + steps);
    });
    this.#encoder?.append(
      graph,
      given,
      graph.caches.filter((_, i) => this.step.caches[i].isSeen),
    );
    const data = new Map<string, Source>();
    const initial = new Map(
      this.step.states.map(({ input, initial }) => [input, initial]),
    );
    for (const { name, shape } of this.#specs) {
      const width = elementCount(shape);
      const value = given[name] ?? initial.get(name);
      data.set(
        name,
        value === undefined
          ? graph.zeros(width)
          : graph.row(graph.data(elementsOf(value)), 0, width),
      );
    }
    if (this.#isRagged && last > 0) {
      graph.node(
        this.#prefill.cell,
        this.#inputs(this.#prefill, graph, graph.id(ids, 0), 0),
        { length: last, caches: this.#caches(graph) },
      );
    }
    let before: CellNode | undefined;
    for (let at = 0; at < last && !this.#isRagged; at++) {
      before = graph.node(
        this.#prefill.cell,
        this.#inputs(this.#prefill, graph, graph.id(ids, at), at, before, data),
        { caches: this.#caches(graph) },
      );
    }
    this.#append(graph, graph.id(ids, last), last, before, data);
    graph.grows(steps, this.options.scores ? 1 + this.step.vocabulary : 1);
  }

  #grow(node: CellNode, graph: CellGraph): void {
    const length = graph.inputs[0].data.length;
    const prefilled = (this.#encoder ? 1 : 0) +
      (this.#isRagged ? Math.min(1, length - 1) : length - 1);
    const steps = graph.nodes.length - prefilled;
    const token = graph.output(node, "next");
    this.#append(graph, token, length - 1 + steps, node);
  }

  /** A step of the token at a position. */
  #append(
    graph: CellGraph,
    token: Source,
    position: number,
    before: CellNode | undefined,
    data?: ReadonlyMap<string, Source>,
  ): void {
    const inputs = {
      ...this.#inputs(this.#step, graph, token, position, before, data),
      // Before the first step it is a token of the prompt.
      ...this.#draws.sources(graph, position, data ? undefined : before),
    };
    const node = graph.node(this.#step.cell, inputs, {
      caches: this.#caches(graph),
    });
    graph.collect("tokens", graph.output(node, "next"));
    if (this.options.scores) {
      graph.collect("scores", graph.output(node, "scores"));
    }
  }

  #caches({ caches }: CellGraph) {
    return Object.fromEntries(
      caches.map((cache, i) => [`cache${i}`, cache]),
    );
  }

  /** @param data what the request has brought; what does not change is found at the node before */
  #inputs(
    { cell, inputs }: LoweredGraph,
    graph: CellGraph,
    token: Source,
    position: number,
    before?: CellNode,
    data?: ReadonlyMap<string, Source>,
  ): Record<string, Source> {
    const { step: { graph: { inputs: values }, states } } = this;
    const sources: Record<string, Source> = {};
    inputs.forEach((place, i) => {
      const { name } = values[place];
      const port = cell.inputs[i].name;
      if (name === TOKEN) sources[port] = token;
      else if (name === POSITION) {
        sources[port] = graph.id(graph.inputs[1], position);
      } else {
        const state = states.findIndex(({ input }) => input === name);
        sources[port] = before && state >= 0
          ? graph.output(before, `state${state}`)
          : data?.get(name) ?? before!.inputs[i];
      }
    });
    return sources;
  }
}
