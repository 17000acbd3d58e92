/** A long benchmark that is ended tells what it has measured. */
import assert from "node:assert/strict";

const BENCH = new URL("../../bench/tell_on_interrupt.ts", import.meta.url).href;

const SCRIPT = `
  import { tellOnInterrupt } from ${JSON.stringify(BENCH)};
  const measured = [];
  tellOnInterrupt(async () => {
    await Promise.resolve();
    console.log(measured.join());
  });
  measured.push(1, 2);
  console.log("ready");
  setInterval(() => {}, 1000);
`;

Deno.test("what was measured is told at SIGINT, before the process ends", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      `data:application/typescript,${encodeURIComponent(SCRIPT)}`,
    ],
    ...{ stdin: "null", stdout: "piped", stderr: "piped" },
  }).spawn();
  const decoder = new TextDecoder();
  let said = "";
  const reading = (async () => {
    for await (const chunk of child.stdout) {
      said += decoder.decode(chunk, { stream: true });
      if (said === "ready\n") child.kill("SIGINT");
    }
  })();
  const [{ code }, errors] = await Promise.all([
    child.status,
    new Response(child.stderr).text(),
    reading,
  ]);
  assert.equal(said, "ready\n1,2\n");
  assert.match(errors, /ended before its end: what was measured until now/);
  assert.equal(code, 130);
});
