/** What is in the tarball, and what `deno publish` would publish. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { DOORS } from "../../src/cli/package/bundle.ts";
import { ROOT, Stranger, TARBALL } from "./stranger.ts";

/**
 * Bytes of code and declarations, installed: near what they are, so that growth is a decision. A tenth is the
 * kernels' builds, a seventh what draws the report's charts, a tenth the door of ONNX files.
 */
const BUILD_MAX = 5_720_000;
/** Bytes of the whole, with room for the documents, whose tables grow with what was measured. */
const PACKED_MAX = 1_975_000;
const INSTALLED_MAX = 6_500_000;

const BUILDS = ["shoal", "shoal.debug", "shoal.dot", "shoal.relaxed"].map((
  name,
) => `${name}.wasm`);

Deno.test("the tarball holds what strangers need, and nothing else", () => {
  using stranger = new Stranger();
  stranger.run("tar", "-xzf", TARBALL);
  const { stdout } = stranger.run("tar", "-tzf", TARBALL);
  const files = stdout.trim().split("\n").map((path) =>
    path.replace(/^package\//, "")
  );
  const path = (file: string) => stranger.path(`package/${file}`);
  const read = (file: string) => readFileSync(path(file), "utf8");

  for (
    const file of [
      ...["README.md", "LICENSE", "CHANGELOG.md", "build/THIRD-PARTY.txt"],
      ...["build/dist/worker.js", "build/dist/cli.js"],
      ...BUILDS.map((name) => `build/dist/${name}`),
    ]
  ) assert(files.includes(file), `${file} is missing`);
  for (const file of files) {
    assert(!/(^|\/)(test|bench|src|node_modules)\//.test(file), file);
    assert(!/(?<!\.d)\.ts$|\.map$|_test\./.test(file), file);
    if (!file.endsWith(".js")) continue;
    assert(!read(file).includes("sourceMappingURL"), `${file} has a map`);
  }
  const bytes = (chosen: string[]) =>
    chosen.reduce((sum, file) => sum + statSync(path(file)).size, 0);
  const build = bytes(files.filter((file) => file.startsWith("build/")));
  const [packed, installed] = [statSync(TARBALL).size, bytes(files)];
  const sizes =
    `${packed} bytes packed, ${installed} installed, ${build} of them code`;
  console.log(sizes);
  assert(build < BUILD_MAX, `${sizes}: over ${BUILD_MAX} of code`);
  assert(packed < PACKED_MAX, `${sizes}: over ${PACKED_MAX} packed`);
  assert(
    installed < INSTALLED_MAX,
    `${sizes}: over ${INSTALLED_MAX} installed`,
  );

  const manifest = JSON.parse(read("package.json"));
  for (const key of ["private", "dependencies"]) {
    assert(!(key in manifest), `package.json has ${key}`);
  }
  const targets = Object.entries(DOORS).flatMap(([door, module]) => {
    const { types, default: code } = manifest.exports[door];
    assert.equal(types, `./build/types/${module}.d.ts`);
    assert.equal(code, `./build/dist/${module}.js`);
    return [types, code];
  });
  for (const target of [...targets, manifest.bin.shoal]) {
    assert(files.includes(`${target}`.replace(/^\.\//, "")), `no ${target}`);
  }
});

Deno.test("what the texts of the package refer to is in it", () => {
  using stranger = new Stranger();
  stranger.run("tar", "-xzf", TARBALL);
  const texts = ["README.md", "ARCHITECTURE.md"];
  for (const text of texts) {
    const content = readFileSync(stranger.path(`package/${text}`), "utf8");
    for (const [, target] of content.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      const path = join(dirname(text), target);
      assert(existsSync(stranger.path(`package/${path}`)), `${text}: ${path}`);
    }
  }
});

Deno.test("deno publish takes the sources, the kernels and no tests", () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["publish", "--dry-run", "--allow-dirty"],
    { cwd: ROOT, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } },
  );
  const said = stdout + stderr;
  assert.equal(status, 0, said);
  const files = [...said.matchAll(/^ +file:\/\/(\S+) \(/gm)].map(([, file]) =>
    file.slice(ROOT.length)
  );
  for (
    const file of [
      ...["deno.json", "README.md", "LICENSE", "src/mod.ts"],
      ...BUILDS.map((name) => `build/${name}`),
    ]
  ) assert(files.includes(file), `${file} is missing`);
  for (const file of files) {
    assert(
      /^(src|docs|build)\//.test(file) ||
        /^[^/]*\.(json|md)$|^LICENSE$/.test(file),
      `${file} would be published`,
    );
    assert(!/^src\/cli\/(build|package\/.*)\.ts$/.test(file), file);
    assert(!/^build\/(?!.*\.wasm$)/.test(file), file);
  }
});
