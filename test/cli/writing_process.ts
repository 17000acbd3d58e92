/** Writes as many bytes to a path as it is told, as commands try and write their files. */
import process from "node:process";
import { checkWritable, writeText } from "../../src/cli/files.ts";

const [path, bytes] = process.argv.slice(2);
checkWritable(path);
writeText(path, "x".repeat(Number(bytes)));
