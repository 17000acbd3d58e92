/** The small load of ../runtimes, as somebody who has installed the package would write it. */

const DOORS = `import * as serving from "@shoal/core";
import * as kernels from "@shoal/core/kernels";
import * as npu from "@shoal/core/npu";
import * as simulate from "@shoal/core/simulate";
import { smokeLoad } from "./smoke_load.mjs";

const doors = { kernels, npu, serving, simulate };
`;

/** Prints the hash of a load on threads, and of one without. */
export const PROGRAM = {
  "smoke_load.mjs": new URL("../runtimes/smoke_load.mjs", import.meta.url),
  "main.mjs": `${DOORS}
console.log(await smokeLoad(doors, "threads"));
console.log(await smokeLoad(doors, "this thread"));
`,
};

/** Reports whether the page is isolated, and the two hashes. */
export const PAGE = {
  "smoke_load.mjs": PROGRAM["smoke_load.mjs"],
  "main.js": `${DOORS}
let text;
try {
  text = [
    crossOriginIsolated,
    await smokeLoad(doors, "page"),
    await smokeLoad(doors, "this thread"),
  ].join(" ");
} catch (error) {
  text = error.stack;
}
const next = await fetch("/report", { method: "POST", body: text });
const url = await next.text();
if (url) location.href = url;
`,
  "index.html": `<!doctype html>
<meta charset="utf-8">
<script type="module" src="./main.js"></script>
`,
};
