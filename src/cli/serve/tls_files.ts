/** Certificate and key of files, looked at before anything is loaded. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readText } from "../files.ts";
import { UsageError } from "../terminal.ts";

/** As PEM. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads both.
 * @param files their paths
 * @throws UsageError where one is none, or they do not belong together
 */
export function readTls(files: Tls): Tls {
  const [cert, key] = [readText(files.cert), readText(files.key)];
  const has = (text: string, what: RegExp) => what.test(text);
  if (!has(cert, /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/)) {
    throw new UsageError(
      `The certificate, ${files.cert}, has no "BEGIN CERTIFICATE" (PEM)${
        has(cert, /PRIVATE KEY-----/) ? ", but a key: are they swapped?" : ""
      }`,
    );
  }
  if (has(key, /ENCRYPTED/)) {
    throw new UsageError(
      `The key, ${files.key}, is encrypted; openssl pkey -in FILE -out NEW makes one that is not`,
    );
  }
  if (!has(key, /-----BEGIN [A-Z ]*PRIVATE KEY-----/)) {
    throw new UsageError(
      `The key, ${files.key}, has no "BEGIN PRIVATE KEY" (PEM)`,
    );
  }
  const parsed = <T>(file: string, parse: () => T): T => {
    try {
      return parse();
    } catch (error) {
      throw new UsageError(
        `${file} cannot be read: ${(error as Error).message}`,
      );
    }
  };
  const of = parsed(files.cert, () => new X509Certificate(cert));
  const secret = parsed(files.key, () => createPrivateKey(key));
  if (!of.checkPrivateKey(secret)) {
    throw new UsageError(
      `The key, ${files.key}, is not that of the first certificate in ${files.cert}`,
    );
  }
  return { cert, key };
}
