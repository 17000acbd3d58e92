/**
 * Bearer keys. A server knows their SHA-256 only: keys are random and long, so that a quick hash keeps them (what a slow
 * one is for is words that people choose), and a file of hashes opens nothing. What a request brings is hashed and
 * compared with every one of them, byte by byte to the end, so that the time it takes says nothing about any.
 */
import {
  anything,
  checkedOptions,
  type Checks,
  finitePositive,
  listOf,
  ofType,
  oneOf,
} from "../../base/checked_options.ts";
import { describe } from "../../base/describe.ts";

/** A key, as a server knows it. */
export interface KeyEntry {
  /** What logs and metrics call its holder. */
  readonly name: string;
  /** 64 hexadecimal digits: the SHA-256 of the key. */
  readonly sha256: string;
  /** What it opens: "infer", models (default); "admin": everything. */
  readonly scope?: "infer" | "admin";
  /** Names of models that it may ask for something; default: all. */
  readonly models?: readonly string[];
  /** Requests that it may make each second, on average; default: any number. */
  readonly requestsPerSecond?: number;
  /** Requests that it may make at once after a pause, beside `requestsPerSecond`; default: those of a second, at least 1. */
  readonly burst?: number;
  /**
   * Work that its requests may be each second, in milliseconds of one worker's time, as expected when they are admitted;
   * default: as much as there is.
   */
  readonly costMsPerSecond?: number;
}

const ENTRY_CHECKS: Checks<KeyEntry> = {
  name: ofType("string"),
  sha256(name, value) {
    if (typeof value === "string" && /^[0-9a-fA-F]{64}$/.test(value)) return;
    // Whatever it is, it may be a key.
    throw new TypeError(`"${name}" is 64 hexadecimal digits, a key's SHA-256`);
  },
  scope: oneOf(["infer", "admin"]),
  models: listOf(ofType("string")),
  requestsPerSecond: finitePositive,
  burst: finitePositive,
  costMsPerSecond: finitePositive,
};

const ENTRIES = listOf(anything);

/** Of a WebSocket, in front of a key. */
const KEY_PROTOCOL = "openai-insecure-api-key.";

/** Characters of a key; a longer one is none, and is not hashed. */
const CHARACTERS_MAX = 512;

/**
 * Keys that open a server.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { KeyRing, keySha256 } from "@shoal/core/server";
 *
 * const keys = new KeyRing([{ name: "app", sha256: await keySha256("a long random string") }]);
 * const headers = { authorization: "Bearer a long random string" };
 * assert.equal((await keys.find(new Headers(headers)))?.name, "app");
 * assert.equal(await keys.find(new Headers({ authorization: "Bearer another" })), undefined);
 * ```
 */
export class KeyRing {
  readonly #entries: readonly KeyEntry[];
  readonly #digests: readonly Uint8Array[];

  /**
   * Checks entries; each is copied.
   * @throws TypeError or RangeError on what is no array, on one that is none, or when two have one name or are one key
   */
  constructor(entries: readonly KeyEntry[]) {
    ENTRIES("entries", entries);
    this.#entries = entries.map((entry) =>
      checkedOptions("a key", entry, ENTRY_CHECKS, ["name", "sha256"])
    );
    this.#entries.forEach(checkBurst);
    this.#entries.forEach(checkOther);
    this.#digests = this.#entries.map(({ sha256 }) => bytesOfHex(sha256));
  }

  /** All of them. */
  get entries(): readonly KeyEntry[] {
    return this.#entries;
  }

  /** Whether there is an administrator's key. */
  get hasAdmin(): boolean {
    return this.#entries.some(({ scope }) => scope === "admin");
  }

  /**
   * The key that a request came with: `Authorization: Bearer KEY`, or `Basic` with the key as password, as browsers send
   * it; without that header a subprotocol of a WebSocket, `openai-insecure-api-key.KEY`, as OpenAI's clients send it where
   * WebSockets have no headers. Undefined when there is none, or it is not one of these.
   */
  async find(headers: Headers): Promise<KeyEntry | undefined> {
    const authorization = headers.get("authorization");
    const presented = authorization === null
      ? offeredKey(headers.get("sec-websocket-protocol"))
      : presentedKey(authorization);
    if (presented === undefined || presented.length > CHARACTERS_MAX) return;
    const digest = await sha256(presented);
    let found: KeyEntry | undefined;
    this.#digests.forEach((known, i) => {
      let difference = 0;
      for (let at = 0; at < known.length; at++) {
        difference |= known[at] ^ digest[at];
      }
      if (difference === 0) found = this.#entries[i];
    });
    return found;
  }
}

/** @throws RangeError where a burst is all that is said of a key's requests, which limits nothing */
function checkBurst({ name, burst, requestsPerSecond }: KeyEntry): void {
  if (burst === undefined || requestsPerSecond !== undefined) return;
  throw new RangeError(
    `Key ${
      describe(name)
    } has "burst" and no "requestsPerSecond": requests are limited by both, or by the latter`,
  );
}

/** @throws RangeError where one before has its name, by which logs and shares know it, or its hash */
function checkOther(
  { name, sha256 }: KeyEntry,
  at: number,
  entries: readonly KeyEntry[],
): void {
  const before = entries.slice(0, at);
  const named = before.findIndex((other) => other.name === name);
  if (named >= 0) {
    throw new RangeError(
      `Keys ${named + 1} and ${at + 1} have one name, ${
        describe(name)
      }: each has a name of its own`,
    );
  }
  const same = before.find((other) =>
    other.sha256.toLowerCase() === sha256.toLowerCase()
  );
  if (same === undefined) return;
  throw new RangeError(
    `Keys ${describe(same.name)} and ${
      describe(name)
    } are one key, with one "sha256": nobody could say which of them a request came with`,
  );
}

/** @returns undefined where there is no key, or none of these forms */
function presentedKey(authorization: string): string | undefined {
  const [, scheme, rest] = /^(\w+) +(.+)$/.exec(authorization) ?? [];
  switch (scheme?.toLowerCase()) {
    case "bearer":
      return rest.trim();
    case "basic":
      return passwordOf(rest);
    default:
      return undefined;
  }
}

/** @returns undefined where no subprotocol brings one */
function offeredKey(protocols: string | null): string | undefined {
  return protocols?.split(",").map((name) => name.trim())
    .find((name) => name.startsWith(KEY_PROTOCOL))?.slice(KEY_PROTOCOL.length);
}

/** RFC 7617: what follows the first colon. */
function passwordOf(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const text = new TextDecoder().decode(bytes);
    const colon = text.indexOf(":");
    return colon < 0 ? undefined : text.slice(colon + 1);
  } catch {
    return undefined;
  }
}

/**
 * What a server is to know of a key.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { keySha256 } from "@shoal/core/server";
 *
 * assert.match(await keySha256("a long random string"), /^[0-9a-f]{64}$/);
 * ```
 */
export async function keySha256(key: string): Promise<string> {
  return Array.from(
    await sha256(key),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
}

async function sha256(text: string): Promise<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

function bytesOfHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g)!, (byte) => parseInt(byte, 16));
}
