/** What requests look like, by protocol and path: one entry adds an endpoint. */
import { describe } from "../base/describe.ts";
import type { Prng } from "../base/prng.ts";
import { metadataInputs, oipBody } from "./oip_body.ts";
import type { Text } from "./texts.ts";

export const PROTOCOLS = ["oip", "openai", "tei", "raw"] as const;
export type Protocol = typeof PROTOCOLS[number];

/** What bodies are made with besides a text. */
export interface BodySettings {
  /** Name of the model, where a body holds one. */
  readonly model: string;
  /** Most tokens of a completion. */
  readonly tokensMax: number;
  /** Whether completions are asked for token by token. */
  readonly stream: boolean;
  /** Outputs that are asked for (Open Inference Protocol); none: all. */
  readonly outputs?: readonly string[];
  /** The model's own metadata (Open Inference Protocol), from `metadataPath`. */
  readonly metadata?: string;
}

/** Makes one body; JSON unless it is text already. */
type BodyMaker = (text: Text, prng: Prng) => unknown;

interface Endpoint {
  readonly protocol: Protocol;
  readonly path: RegExp;
  /** Where the metadata is that its bodies are made of. */
  readonly metadataPath?: (path: string) => string;
  readonly bodies: (settings: BodySettings) => BodyMaker;
}

const ENDPOINTS: readonly Endpoint[] = [
  {
    protocol: "openai",
    path: /\/v1\/embeddings$/,
    // As the clients of OpenAI ask unless they are told otherwise.
    bodies: ({ model }) => ({ text }) => ({
      ...{ model, input: text, encoding_format: "base64" },
    }),
  },
  {
    protocol: "openai",
    path: /\/v1\/completions$/,
    bodies: ({ model, tokensMax, stream }) => ({ text }) => ({
      ...{ model, prompt: text, max_tokens: tokensMax, stream },
    }),
  },
  {
    protocol: "openai",
    path: /\/v1\/chat\/completions$/,
    bodies: ({ model, tokensMax, stream }) => ({ text }) => ({
      ...{ model, max_tokens: tokensMax, stream },
      messages: [{ role: "user", content: text }],
    }),
  },
  {
    protocol: "tei",
    path: /\/rerank$/,
    bodies: () => ({ text }) => ({ query: text, texts: [text] }),
  },
  {
    protocol: "tei",
    path: /\/(embed|embed_all|predict)?$/,
    bodies: () => ({ text }) => ({ inputs: text }),
  },
  {
    protocol: "oip",
    path: /\/v2\/models\/[^/]+(\/versions\/[^/]+)?\/infer$/,
    metadataPath: (path) => path.replace(/\/infer$/, ""),
    bodies: ({ metadata = "{}", outputs = [] }) => {
      const inputs = metadataInputs(metadata);
      return (text, prng) => ({
        ...oipBody(inputs, text, prng),
        ...(outputs.length > 0 &&
          { outputs: outputs.map((name) => ({ name })) }),
      });
    },
  },
];

/** Where a protocol's requests go when only the server is named. */
export function pathOf(protocol: Protocol, model: string): string {
  if (protocol === "openai") return "/v1/embeddings";
  if (protocol === "tei") return "/embed";
  if (protocol === "oip") {
    return `/v2/models/${encodeURIComponent(model)}/infer`;
  }
  return "/";
}

/** The protocol whose path this is; "raw" when it is nobody's. */
export function protocolOf(path: string): Protocol {
  if (path === "/") return "raw";
  return ENDPOINTS.find((endpoint) => endpoint.path.test(path))?.protocol ??
    "raw";
}

/** @throws RangeError when the protocol has nothing at the path */
export function endpointOf(protocol: Protocol, path: string): Endpoint {
  const found = ENDPOINTS.find((endpoint) =>
    endpoint.protocol === protocol && endpoint.path.test(path)
  );
  if (found === undefined) {
    throw new RangeError(
      `Protocol "${protocol}" has no endpoint at ${
        describe(path)
      } that a body is known for; give a --body`,
    );
  }
  return found;
}

/**
 * Bodies of a file's text, in which `{{text}}` is a text as it stands inside of a JSON string, `{{tokens}}` its length
 * and `{{seed}}` a number drawn for it.
 */
export function templateBodies(template: string): BodyMaker {
  return ({ text, tokens }, prng) => {
    const values: Readonly<Record<string, () => string>> = {
      text: () => JSON.stringify(text).slice(1, -1),
      tokens: () => `${tokens}`,
      seed: () => `${prng.int(2 ** 31)}`,
    };
    return template.replace(
      /\{\{(text|tokens|seed)\}\}/g,
      (_, name: string) => values[name](),
    );
  };
}
