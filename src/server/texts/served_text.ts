/** Which of the served models answers a request about texts. */
import { listed } from "../../base/describe.ts";
import type { TextModel } from "../../text/text_model.ts";
import type { EngineHost } from "../host/engine_host.ts";
import { NotFoundError } from "../host/errors.ts";
import type { ServedKind, ServedModel } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";

/** A model with a tokenizer. */
export interface ServedText extends ServedModel {
  readonly text: TextModel;
}

/** What models of a kind do, for messages. */
const DOES: Readonly<Record<ServedKind, string>> = {
  tensors: "takes tensors",
  stream: "takes streams",
  embedding: "embeds texts",
  classifier: "classifies texts",
  reranker: "reranks texts",
  decoder: "generates text",
};

/** The server has models, but none that can do it. */
export class WrongKindError extends Error {
  override readonly name = "WrongKindError";
}

/**
 * The model of a name, or of a name, a slash and a version, if it is of one of the kinds.
 * @throws NotFoundError, WrongKindError
 */
export function namedText(
  host: EngineHost,
  name: string,
  kinds: readonly ServedKind[],
): ServedText {
  const served = findLabel(host, name);
  const { kind } = served;
  if (!kinds.includes(kind)) {
    throw new WrongKindError(
      `Model "${served.name}" ${DOES[kind]}; asked for is one that ${
        listed(kinds.map((kind) => DOES[kind]))
      }`,
    );
  }
  return withText(served);
}

/**
 * The only model of one of the kinds, for protocols whose requests name none.
 * @param path that was asked, which is there behind `/models/NAME` as well
 * @throws WrongKindError when there is none; HttpError when there are several
 */
export function onlyText(
  host: EngineHost,
  kinds: readonly ServedKind[],
  path: string,
): ServedText {
  const fitting = host.models.filter(({ kind, text }) =>
    text !== undefined && kinds.includes(kind)
  );
  const names = [...new Set(fitting.map(({ name }) => name))];
  if (names.length === 1) return withText(host.find(names[0]));
  if (names.length > 1) {
    throw new HttpError(
      400,
      `Several models can do this, ${
        listed(names)
      }: put the name in front, as in /models/${names[0]}${
        path.replace(/\/$/, "")
      }`,
    );
  }
  throw new WrongKindError(
    `There is no model here that ${listed(kinds.map((kind) => DOES[kind]))}`,
  );
}

/** The model of a name, or of a name, a slash and a version. @throws NotFoundError */
export function findLabel(host: EngineHost, label: string): ServedModel {
  try {
    return host.find(label);
  } catch (error) {
    const slash = label.lastIndexOf("/");
    if (!(error instanceof NotFoundError) || slash < 0) throw error;
    return host.find(label.slice(0, slash), label.slice(slash + 1));
  }
}

/** The host knows models by identity: it is returned as it is. */
function withText(served: ServedModel): ServedText {
  if (served.text !== undefined) return served as ServedText;
  throw new WrongKindError(`Model "${served.name}" has no tokenizer`);
}
