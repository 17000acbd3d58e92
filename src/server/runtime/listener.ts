/** What runtimes' adapters have in common. */
import {
  type Check,
  checkedOptions,
  type Checks,
} from "../../base/checked_options.ts";
import type { Connection } from "../http/socket.ts";

/** What answers: see Server. */
export interface Handler {
  /** Answers a request; never rejects. */
  fetch(
    request: Request,
    connection?: { readonly isLoopback?: boolean } & Connection,
  ): Promise<Response>;
}

/** Options of {@linkcode listen}. */
export interface ListenOptions {
  /** Default "127.0.0.1": nobody but this machine. */
  hostname?: string;
  /** Default 8000; 0: any that is free. */
  port?: number;
  /** Certificate chain and private key as PEM: HTTPS. */
  tls?: { readonly cert: string; readonly key: string };
}

// What it is, if it is anything, may be a secret.
const pem: Check = (name, value) => {
  if (typeof value === "string" && value !== "") return;
  throw new TypeError(
    `"${name}" of "tls" is the text of a PEM file, got ${
      value === "" ? "none" : typeof value
    }`,
  );
};

const TLS_CHECKS: Checks<NonNullable<ListenOptions["tls"]>> = {
  cert: pem,
  key: pem,
};

/** The option `tls`: without certificate or key a runtime might serve in the clear. */
export const checkTls: Check = (name, value) => {
  const tls = value as NonNullable<ListenOptions["tls"]>;
  checkedOptions(`"${name}"`, tls, TLS_CHECKS, ["cert", "key"]);
};

/** What a runtime's adapter is given. */
export type Address =
  & Required<Pick<ListenOptions, "hostname" | "port">>
  & Pick<ListenOptions, "tls">;

/** A port that is listened at. */
export interface Listener {
  /** Where it is reached. */
  readonly url: string;
  /** Its number. */
  readonly port: number;
  /**
   * Takes no more connections and resolves when all requests under way are answered, those included that reach the port
   * while it closes.
   * @param graceMs how long that may take; connections are cut then. Default 30,000; Infinity: as long as it takes
   */
  close(graceMs?: number): Promise<void>;
}
