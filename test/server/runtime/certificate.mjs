/** Certificates for 127.0.0.1, made by OpenSSL for as long as something is done. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NEW = [
  ..."req -x509 -nodes -days 2 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1"
    .split(" "),
];

/**
 * @param {(certificate: {
 *   ca: string; cert: string; key: string;
 *   files: { ca: string; cert: string; key: string };
 * }) => Promise<void>} run is given PEM texts and the paths of their files; not called where there is no OpenSSL
 * @returns whether it was called
 */
export async function withCertificate(run) {
  const folder = mkdtempSync(join(tmpdir(), "shoal-tls-"));
  const path = (name) => join(folder, `${name}.pem`);
  const openssl = (...args) => {
    const { error, status, stderr } = spawnSync("openssl", args, {
      encoding: "utf8",
    });
    if (error) return false;
    if (status !== 0) throw new Error(`openssl: ${stderr}`);
    return true;
  };
  try {
    const isThere = openssl(
      ...NEW,
      ...["-subj", "/CN=Shoal's tests", "-keyout", path("caKey")],
      ...["-out", path("ca")],
    );
    if (!isThere) {
      console.error("skipped: there is no openssl");
      return false;
    }
    openssl(
      ...NEW,
      ...["-CA", path("ca"), "-CAkey", path("caKey")],
      ...["-subj", "/CN=localhost", "-keyout", path("key")],
      ...["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
      ...["-addext", "basicConstraints=critical,CA:FALSE"],
      ...["-out", path("cert")],
    );
    const read = (name) => readFileSync(path(name), "utf8");
    await run({
      ...{ ca: read("ca"), cert: read("cert"), key: read("key") },
      files: { ca: path("ca"), cert: path("cert"), key: path("key") },
    });
    return true;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
