/**
 * Clients of npm, as they are there. They are no dependencies of the package: they are installed under build/, once.
 */
import { pathToFileURL } from "node:url";
import { install, requirePeer } from "../../bench/kernels/peers/install.ts";

const VERSIONS = {
  openai: "7.57.0",
  "@huggingface/inference": "4.13.30",
  "@grpc/grpc-js": "1.14.7",
  "@grpc/proto-loader": "0.8.1",
  // What openai's client of /v1/realtime brings along.
  ws: "8.18.3",
};

/** What is used of `openai`. */
export interface OpenAIClient {
  readonly embeddings: {
    create(body: object, options?: object): Promise<{
      readonly data: readonly { readonly embedding: number[] | string }[];
      readonly usage: Readonly<Record<string, number>>;
    }>;
  };
  readonly completions: Answers<{ readonly text: string }>;
  readonly chat: {
    readonly completions: Answers<{
      readonly message?: { readonly content: string };
      readonly delta?: { readonly content?: string };
    }>;
  };
  readonly models: { list(): AsyncIterable<{ readonly id: string }> };
}

type Json = Readonly<Record<string, unknown>>;

interface Answers<Choice> {
  create(body: Json & { stream: true }, options?: object): Promise<
    AsyncIterable<Body<Choice>> & { readonly controller: AbortController }
  >;
  create(body: Json, options?: object): Promise<Body<Choice>>;
}

interface Body<Choice> {
  readonly choices: readonly (Choice & {
    readonly index: number;
    readonly finish_reason: string | null;
  })[];
  readonly usage?: Readonly<Record<string, number>> | null;
}

/** What is used of `@huggingface/inference`. */
export interface HuggingFaceClient {
  featureExtraction(args: object): Promise<number[][]>;
  textClassification(
    args: object,
  ): Promise<{ readonly label: string; readonly score: number }[]>;
  sentenceSimilarity(args: object): Promise<number[]>;
  textGeneration(args: object): Promise<{ readonly generated_text: string }>;
  chatCompletion(args: object): Promise<{
    readonly choices: readonly { readonly message: { content: string } }[];
  }>;
}

/** The modules. */
export interface NpmClients {
  readonly OpenAI:
    & (new (options: object) => OpenAIClient)
    & Readonly<Record<string, new () => Error>>;
  readonly InferenceClient: new (
    token: string,
    options: object,
  ) => HuggingFaceClient;
}

/** Installs what is required in another way. */
export function installClients(): void {
  install(VERSIONS);
}

/** Installs them if they are missing, and loads them. */
export async function npmClients(): Promise<NpmClients> {
  installClients();
  const { default: OpenAI } = await load("openai");
  const { InferenceClient } = await load("@huggingface/inference");
  return { OpenAI, InferenceClient } as NpmClients;
}

function load(name: string): Promise<Record<string, unknown>> {
  const path = requirePeer.resolve(name);
  return import(pathToFileURL(path).href);
}
