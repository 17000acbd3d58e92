/**
 * Requests about texts under the names of Text Embeddings Inference (its router's `http/server.rs`, `lib.rs` and
 * `prometheus.rs`, core's `infer.rs`, `queue.rs` and `tokenization.rs`, 1.9.3), so that dashboards of it show them: those
 * to `/embed`, `/embed_all`, `/similarity`, `/predict`, `/rerank`, `/` and `/v1/embeddings`.
 * Deviation: there is one model there, and no label for it; here figures are of all models.
 * Deviation: a request that fails is counted once; there often once for each of its texts. One text to `/predict` is
 * counted as any other; there it is counted twice and never as a success.
 * Deviation: what is refused before its body is read is a failure, and in no other figure: whether it brought a list is
 * not known.
 * Deviation: lengths are of texts that were answered. Histograms of lengths have all of the buckets there; they end at
 * the model's greatest length.
 * Deviation: batches are of cells, of models of texts, so that a text is in many; those of cells without tokens are in
 * `te_batch_next_size` alone.
 * Deviation: `te_queue_size` includes texts that wait for admission, which are refused there.
 */
import { NS_PER_S } from "../../base/units.ts";
import type { Model } from "../../graph/model.ts";
import type { Observer } from "../../policy/records.ts";
import { TextFileError } from "../../text/errors.ts";
import { InputError, NotFoundError } from "../host/errors.ts";
import type { HostObserver } from "../host/host_observer.ts";
import type { ServedModel } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import type {
  TextCost,
  TextObserver,
  TextsEnded,
} from "../http/text_observer.ts";
import {
  CounterFamily,
  type Family,
  GaugeFamily,
  HistogramFamily,
} from "../observe/exposition.ts";
import type { PendingRequests } from "../observe/pending_requests.ts";
import { reasonOf } from "../observe/refusal_reason.ts";
import { WrongKindError } from "../texts/served_text.ts";
import { FieldError } from "../wire/fields.ts";
import { BatchSizeError, EmptyError } from "./inputs.ts";

/** Seconds: from 15 microseconds by factors of 1.5, as the router has them. */
const SECONDS = geometric(1e-5 * 1.5, 1.5, 35);
const LENGTHS = geometric(1, 2, 20);
const BATCH_SIZES = geometric(1, 2, 13);
const BATCH_TOKENS = geometric(1, 2, 21);

/** Paths of requests that run a model of texts, in its router. */
const PATHS = [
  ...["/", "/embed", "/embed_all", "/similarity", "/predict", "/rerank"],
  "/v1/embeddings",
];

const SINGLE = { method: "single" };
const BATCH = { method: "batch" };

/** Counts them. */
export class TeiMetrics implements HostObserver, TextObserver {
  readonly #pending: PendingRequests;
  /** Models of texts of engines that tell what they do. */
  readonly #models = new WeakSet<Model>();
  #isHeard = false;
  readonly #count = new CounterFamily(
    "te_request_count",
    "Requests about texts, by whether they brought one text or a list.",
  );
  readonly #success = new CounterFamily(
    "te_request_success",
    "Requests about texts that were answered.",
  );
  readonly #failure = new CounterFamily(
    "te_request_failure",
    "Requests about texts that were not answered, by why.",
  );
  readonly #request = new HistogramFamily(
    "te_request_duration",
    "Seconds from a request's body to its answer, of those that were answered.",
    SECONDS,
  );
  readonly #tokenization = new HistogramFamily(
    "te_request_tokenization_duration",
    "Seconds until a request's texts were tokens, mean of its texts.",
    SECONDS,
  );
  readonly #queue = new HistogramFamily(
    "te_request_queue_duration",
    "Seconds that a request's texts waited for admission and their first batch, mean of its texts.",
    SECONDS,
  );
  readonly #inference = new HistogramFamily(
    "te_request_inference_duration",
    "Seconds from the start of a text's first batch to the end of its last one, mean of a request's texts.",
    SECONDS,
  );
  readonly #length = new HistogramFamily(
    "te_request_input_length",
    "Tokens of a text that was answered.",
    LENGTHS,
  );
  readonly #batchSize = new HistogramFamily(
    "te_batch_next_size",
    "Rows of a batch of a cell of a model of texts.",
    BATCH_SIZES,
  );
  readonly #batchTokens = new HistogramFamily(
    "te_batch_next_tokens",
    "Tokens of such a batch, of cells that have them.",
    BATCH_TOKENS,
  );

  constructor(pending: PendingRequests) {
    this.#pending = pending;
  }

  /** See HostObserver. */
  engine(_generation: number, models: readonly ServedModel[]): Observer {
    this.#isHeard = true;
    for (const served of models) {
      if (isOfTexts(served)) this.#models.add(served.model);
    }
    return {
      task: ({ nodes }, { rows, tokens }) => {
        const isTheirs = nodes.length > 0 &&
          this.#models.has(nodes[0].graph.owner.model);
        if (!isTheirs) return;
        this.#batchSize.with().observe(rows);
        if (tokens) this.#batchTokens.with().observe(tokens.done);
      },
    };
  }

  /** See TextObserver. */
  began(isBatch: boolean): (ended: TextsEnded) => void {
    const method = isBatch ? BATCH : SINGLE;
    this.#count.with(method).add(1);
    return (ended) => {
      if ("error" in ended) {
        const err = wordFor(ended.error, ended.isEncoded);
        this.#failure.with({ err }).add(1);
        return;
      }
      const { costs, totalNs } = ended;
      const mean = (what: (cost: TextCost) => number) =>
        costs.reduce((sum, cost) => sum + what(cost), 0) / costs.length /
        NS_PER_S;
      this.#success.with(method).add(1);
      this.#request.with().observe(totalNs / NS_PER_S);
      this.#tokenization.with().observe(
        mean(({ tokenizationNs }) => tokenizationNs),
      );
      this.#queue.with().observe(mean(({ queueNs }) => queueNs));
      this.#inference.with().observe(mean(({ inferenceNs }) => inferenceNs));
      for (const { tokens } of costs) this.#length.with().observe(tokens);
    };
  }

  /**
   * Counts one that was refused before its body was read.
   * @param path of its route
   */
  refusedUnread(path: string, error: unknown): void {
    const short = path.replace(/^\/models\/\{model\}/, "") || "/";
    if (!PATHS.includes(short)) return;
    this.#failure.with({ err: wordFor(error, false) }).add(1);
  }

  /** As of now. */
  families(): readonly Family[] {
    const queueSize = new GaugeFamily(
      "te_queue_size",
      "Requests to models of texts of which nothing has been given to a worker yet.",
    );
    if (this.#isHeard) queueSize.with();
    for (const [served, waiting] of this.#pending.counts()) {
      if (this.#models.has(served.model)) queueSize.with().add(waiting);
    }
    return [
      ...[this.#count, this.#success, this.#failure],
      ...[this.#request, this.#tokenization, this.#queue, this.#inference],
      ...[this.#length, this.#batchSize, this.#batchTokens, queueSize],
    ];
  }
}

function isOfTexts({ text, kind }: ServedModel): boolean {
  return text !== undefined && kind !== "decoder";
}

/** The router's word for an error, or ours where it has none. */
function wordFor(error: unknown, isEncoded: boolean): string {
  if (error instanceof BatchSizeError) return "batch_size";
  if (error instanceof EmptyError || error instanceof FieldError) {
    return "validation";
  }
  const isOfNoModel = error instanceof WrongKindError ||
    error instanceof NotFoundError || error instanceof TextFileError ||
    // Of which model it was to be could not be told.
    error instanceof HttpError;
  if (isOfNoModel) return "model_type";
  if (error instanceof InputError) {
    return isEncoded ? "validation" : "tokenization";
  }
  const reason = reasonOf(error);
  switch (reason) {
    case "full":
    case "late":
    case "displaced":
      return "overloaded";
    case "cancelled":
      return "dropped";
    case "input":
    case "internal":
      return "inference";
    default:
      return reason;
  }
}

/** As the router makes them, so that bounds have the same digits. */
function geometric(first: number, factor: number, count: number): number[] {
  const bounds = [first];
  while (bounds.length < count) bounds.push(bounds[bounds.length - 1] * factor);
  return bounds;
}
