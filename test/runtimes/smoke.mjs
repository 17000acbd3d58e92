/** Runs the bundled library in whatever runtime executes this file, and prints the hash of its results. */
import * as shoal from "../../build/shoal.js";
import { smokeLoad } from "./smoke_load.mjs";

console.log(await smokeLoad(shoal));
