import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json } from "../../../bench/reproduce/experiment.ts";
import {
  canonical,
  PointCache,
} from "../../../bench/reproduce/run/point_cache.ts";
import { Sources } from "../../../bench/reproduce/run/sources.ts";

/** A small project of two experiments that share a file, with a cache. */
class Project {
  readonly root = mkdtempSync(join(tmpdir(), "shoal-project-"));
  readonly folder = join(this.root, "cache");
  computed = 0;

  constructor() {
    mkdirSync(join(this.root, "paper"));
    this.write("paper/a.ts", `import "./shared.ts"; const x = { id: "p.a" };`);
    this.write("paper/b.ts", `import "./shared.ts"; const x = { id: "p.b" };`);
    this.write("paper/experiments.ts", `import "./a.ts"; import "./b.ts";`);
    this.write("paper/shared.ts", "1");
    this.write("paper/other.ts", "1");
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.root, file), text);
  }

  /** As a process of its own would have it. */
  cache(file = "paper/a.ts", fresh = false): PointCache {
    const sources = new Sources(this.root);
    return new PointCache({ folder: this.folder, sources, file, fresh });
  }

  /** A point that counts how often it is computed. */
  point(cache: PointCache, key: Record<string, Json>): Promise<Json> {
    return cache.point(key, () => {
      this.computed++;
      return { doubled: 2 * (key["x"] as number) };
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true });
  }
}

Deno.test("a point is computed once for its key, in whatever order the key's fields are", async () => {
  using project = new Project();
  deepEqual(await project.point(project.cache(), { x: 3, seed: 1 }), {
    doubled: 6,
  });
  deepEqual(await project.point(project.cache(), { seed: 1, x: 3 }), {
    doubled: 6,
  });
  equal(project.computed, 1);
  await project.point(project.cache(), { x: 3, seed: 2 });
  equal(project.computed, 2);
  await project.point(project.cache("paper/a.ts", true), { x: 3, seed: 1 });
  equal(project.computed, 3);
});

Deno.test("an interrupted run loses no more than the point under way", async () => {
  using project = new Project();
  const run = async (interruptedAt: number) => {
    const cache = project.cache();
    for (let x = 0; x < 6; x++) {
      await cache.point({ x }, () => {
        if (x === interruptedAt) throw new Error("interrupted");
        project.computed++;
        return x;
      });
    }
  };
  await rejects(run(4), /interrupted/);
  equal(project.computed, 4);
  await run(Infinity);
  equal(project.computed, 6);
});

Deno.test("a changed source recomputes what it may have decided, and nothing else", async () => {
  using project = new Project();
  const key = { x: 1 };
  await project.point(project.cache(), key);
  project.write("paper/other.ts", "2");
  await project.point(project.cache(), key);
  // Another file's experiment has the point in common.
  await project.point(project.cache("paper/b.ts"), key);
  project.write("paper/b.ts", "");
  await project.point(project.cache("paper/b.ts"), key);
  equal(project.computed, 1);
  project.write("paper/shared.ts", "2");
  await project.point(project.cache("paper/b.ts"), key);
  equal(project.computed, 2);
  await project.point(project.cache(), key);
  equal(project.computed, 2, "computed by another file's code as it is now");
});

Deno.test("a file that is no whole entry of its key is computed again", async () => {
  using project = new Project();
  const key = { x: 5 };
  await project.point(project.cache(), key);
  const [name] = readdirSync(project.folder);
  const path = join(project.folder, name);
  const whole = await Deno.readTextFile(path);
  const bad = [
    "",
    whole.slice(0, whole.length / 2),
    "null",
    "3",
    `"x"`,
    "{}",
    whole.replace('"x":5', '"x":6'),
    whole.replace("paper/a.ts", "paper/none.ts"),
    whole.replace('"value"', '"values"'),
  ];
  for (const [i, text] of bad.entries()) {
    ok(text !== whole, text);
    writeFileSync(path, text);
    deepEqual(await project.point(project.cache(), key), { doubled: 10 });
    equal(project.computed, 2 + i, text);
  }
  deepEqual(readdirSync(project.folder), [name], "no temporary files are left");
});

Deno.test("two caches that compute the same point at once both have it", async () => {
  using project = new Project();
  const caches = [project.cache(), project.cache("paper/b.ts")];
  const values = await Promise.all(
    caches.map((cache) =>
      cache.point({ x: 1 }, async () => {
        await Promise.resolve();
        return [0.1, "two"];
      })
    ),
  );
  deepEqual(values, [[0.1, "two"], [0.1, "two"]]);
  equal(readdirSync(project.folder).length, 1);
});

Deno.test("a point under way is not computed twice by one experiment", async () => {
  using project = new Project();
  const cache = project.cache("paper/a.ts", true);
  await Promise.all([
    project.point(cache, { x: 1 }),
    project.point(cache, { x: 1 }),
  ]);
  equal(project.computed, 1);
});

Deno.test("what JSON would lose is refused, with where it is", async () => {
  using project = new Project();
  const cache = project.cache();
  await rejects(
    cache.point({ x: 1 }, () => ({ a: [1, NaN] })),
    /A point's value\.a\[1\] cannot be kept as JSON: NaN/,
  );
  throws(() => canonical(new Float64Array(2) as unknown as Json), TypeError);
  throws(() => canonical({ x: undefined as unknown as Json }), TypeError);
  deepEqual(readdirSync(project.folder), []);
});

Deno.test("an experiment's file is the one that holds its id, else the paper's list of all", () => {
  using project = new Project();
  const sources = new Sources(project.root);
  equal(sources.fileOf("p.b", "paper"), "paper/b.ts");
  equal(sources.fileOf("p.c", "paper"), "paper/experiments.ts");
  deepEqual(sources.closure("paper/experiments.ts"), [
    "paper/a.ts",
    "paper/b.ts",
    "paper/experiments.ts",
    "paper/shared.ts",
  ]);
});
