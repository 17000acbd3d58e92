/**
 * Engines that come and go in one process, the same in every runtime, and what they leave behind. Every
 * way to come and go is one entry of LIVES.
 */
import { readdir } from "node:fs/promises";
import process from "node:process";

/** @typedef {typeof import("../../src/mod.ts")} Shoal */

/**
 * @typedef {object} Life
 * @property {string} name
 * @property {number} times in a full run
 * @property {(shoal: Shoal, i: number) => Promise<void>} live
 */

/**
 * @typedef {object} Remains
 * @property {number | undefined} threadsBefore after the first life; undefined where nobody counts them
 * @property {number | undefined} threadsAfter
 * @property {number} rssBefore bytes, after the first half
 * @property {number} rssAfter
 */

/** @type {readonly Life[]} */
const KINDS = [
  {
    name: "engines made and closed",
    times: 200,
    async live(shoal, i) {
      const engine = await create(shoal, { threadsPerWorker: 1 + i % 2 });
      await engine.run(sentences(shoal), { tokens: [1, 2, 3 + i] });
      await engine.close();
    },
  },
  {
    name: "failed creations",
    times: 50,
    async live(shoal, i) {
      const [why, options] = i % 2 === 0
        ? [/cannot batch model "treelstm"/, { policy: shoal.graph() }]
        : [/more than the 4 GiB/, { slotBytes: 2 ** 32 }];
      const error = await create(shoal, options).then(
        () => new Error("it was made"),
        (reason) => reason,
      );
      if (!why.test(error.message)) throw error;
    },
  },
  {
    name: "dead workers",
    times: 50,
    async live(shoal, i) {
      const made = await watchThreads();
      const engine = await create(shoal, {
        threadsPerWorker: 2,
        onError() {},
      });
      const input = { tokens: Array.from({ length: 400 }, (_, t) => t % 9) };
      const answers = [1, 2, 3].map(() => engine.run(sentences(shoal), input));
      // One of both workers or of their helpers; it is busy, or asleep.
      made[i % made.length].terminate();
      const [first, ...others] = (await Promise.all(answers)).map((
        { outputs },
      ) => String(outputs.h.data));
      if (others.some((other) => other !== first)) {
        throw new Error("one input has several answers");
      }
      await engine.close();
    },
  },
];

/**
 * All kinds in one process first, each as often as in a full run of its own; then, for whoever looks for
 * what is left behind, one after the other.
 * @type {readonly Life[]}
 */
export const LIVES = [
  {
    name: "engines of all kinds",
    times: KINDS.reduce((sum, { times }) => sum + times, 0),
    live: (shoal, i) => {
      const [made, failed, dead] = KINDS;
      const kind = i % 6 === 4 ? failed : i % 6 === 5 ? dead : made;
      return kind.live(shoal, Math.floor(i / 6) + i % 6);
    },
  },
  ...KINDS,
];

/** @type {Promise<{ terminate(): unknown }[]> | undefined} */
let watched;

/** Threads that are made from now on. */
async function watchThreads() {
  const made = await (watched ??= recordThreads());
  made.length = 0;
  return made;
}

/** Puts a class that keeps its instances in the place of the runtime's. */
async function recordThreads() {
  /** @type {{ terminate(): unknown }[]} */
  const made = [];
  /** @param {any} Original */
  const recording = (Original) =>
    class extends Original {
      /** @param {unknown[]} args */
      constructor(...args) {
        super(...args);
        made.push(/** @type {any} */ (this));
      }
    };
  if (typeof Worker === "function") {
    globalThis.Worker = recording(Worker);
  } else {
    const { default: threads } = await import("node:worker_threads");
    const { syncBuiltinESMExports } = await import("node:module");
    threads.Worker = recording(threads.Worker);
    syncBuiltinESMExports();
  }
  return made;
}

/** @type {Record<string, any>} */
const models = {};

/**
 * 5 MB of weights: an engine that stays in memory shows.
 * @param {Shoal} shoal
 * @returns {ReturnType<Shoal["lstm"]>}
 */
function sentences({ lstm }) {
  return models["lstm"] ??= lstm({ hidden: 384, vocabulary: 500 });
}

/**
 * @param {Shoal} shoal
 * @param {Partial<import("../../src/mod.ts").ServingOptions>} options
 */
function create(shoal, options) {
  models["treelstm"] ??= shoal.treeLstm({ hidden: 8, vocabulary: 10 });
  return shoal.ServingEngine.create({
    models: [sentences(shoal), models["treelstm"]],
    policy: shoal.cellular(),
    workers: 2,
    slotBytes: 2 ** 20,
    warmUp: false,
    ...options,
  });
}

/**
 * Lives `times` lives, at least four.
 * @param {Shoal} shoal
 * @param {Life} life
 * @param {number} times
 * @returns {Promise<Remains>}
 */
export async function remainsOf(shoal, { live }, times) {
  // The first one loads code, starts the runtime's own threads and fills its pools.
  await live(shoal, 0);
  await live(shoal, 1);
  const threadsBefore = await threads();
  const half = Math.floor(times / 2);
  for (let i = 2; i < half; i++) await live(shoal, i);
  const rssBefore = await rss();
  for (let i = half; i < times; i++) await live(shoal, i);
  const threadsAfter = await threads(threadsBefore);
  return { threadsBefore, threadsAfter, rssBefore, rssAfter: await rss() };
}

/** Looks before lives begin, and most looks after them; a pause is between two. */
const LOOKS_FIRST = 20;
const LOOKS_MOST = 150;
const PAUSE_MS = 100;

/**
 * The fewest threads of some looks: they end some time after they were told to, a runtime's pools some
 * seconds later.
 * @param {number} [awaited] no need to look on once there are no more than this
 */
async function threads(awaited) {
  if (process.platform !== "linux") return undefined;
  let fewest = Infinity;
  const looks = awaited === undefined ? LOOKS_FIRST : LOOKS_MOST;
  for (let look = 0; look < looks && fewest > (awaited ?? 0); look++) {
    await pause();
    const { length } = await readdir("/proc/self/task");
    fewest = Math.min(fewest, length);
  }
  return fewest;
}

/** The least of some looks, as garbage is collected at leisure. */
async function rss() {
  let least = Infinity;
  for (let look = 0; look < 10; look++) {
    /** @type {{ gc?: () => void }} */ (globalThis).gc?.();
    await pause();
    least = Math.min(least, process.memoryUsage().rss);
  }
  return least;
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
