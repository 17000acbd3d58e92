/** Writes as many bytes to a path as it is told, as commands write their files. */
import process from "node:process";
import { writeText } from "../../src/cli/files.ts";

const [path, bytes] = process.argv.slice(2);
writeText(path, "x".repeat(Number(bytes)));
