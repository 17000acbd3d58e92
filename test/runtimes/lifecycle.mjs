/** Prints as JSON what lives leave behind. Arguments: URL of the library, name of the lives, how many. */
import process from "node:process";
import { LIVES, remainsOf } from "./lifecycle_load.mjs";

const [library, name, times] = process.argv.slice(2);
const life = LIVES.find((life) => life.name === name);
if (library === undefined || life === undefined) {
  throw new RangeError(`Lives "${name}" of a library "${library}"`);
}
const remains = await remainsOf(await import(library), life, Number(times));
console.log(JSON.stringify(remains));
