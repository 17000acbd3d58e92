/** E2bird's rules (Cui et al., IEEE TPDS): Algorithms 1 and 2, the memory pool, the offline phase. */
import type { MutantList } from "../mutant.ts";

const ROUNDS = "test/policy/ebird_rounds_test.ts";
const POLICY = "test/policy/ebird_test.ts";

export const MUTANTS: MutantList = [
  {
    id: "e2bird.configuration-changes",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "service.idle.configure(service.counts);",
    to: "",
    tests: [ROUNDS],
    why:
      "Algorithm 2, lines 3 and 4: the queue of workers is updated to the configuration of the load",
  },
  {
    id: "e2bird.mem-state-changed",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "service.memState = now;",
    to: "service.memState = Math.max(service.memState, now);",
    tests: [ROUNDS],
    why:
      "Algorithm 2, line 2: the load is looked at whenever it has changed, not only beyond its highest",
  },
  {
    id: "e2bird.pending-only",
    file: "src/policy/e2bird/e_ebird.ts",
    from: 'countsAlive: memState === "unanswered"',
    to: "countsAlive: true",
    tests: [ROUNDS],
    why:
      "section 7.3.3 and Table 3: MemState is what is pending in the pool (N), without what is alive (CurInf)",
  },
  {
    id: "e2bird.unanswered",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "ring.ready + (countsAlive ? curInf : 0)",
    to: "ring.ready",
    tests: [ROUNDS],
    why: 'memState "unanswered" counts what is in computation as well',
  },
  {
    id: "e2bird.rounds",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "let most = startable(service);",
    to: "startRound(service);\n    let most = startable(service);",
    tests: [ROUNDS],
    why:
      "Algorithm 2: lines 2-4 stand outside the loop of lines 8-16, so a round keeps its workers",
  },
  {
    id: "e2bird.next-round",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "    if (size === 0) {\n      startRound(service);",
    to:
      "    if (size === 0 && service.rest === 0) {\n      startRound(service);",
    tests: [ROUNDS],
    why:
      "Algorithm 2, line 1: a round that no worker fits is followed by the next, with workers of its own",
  },
  {
    id: "e2bird.smallest-total-that-holds",
    file: "src/policy/e2bird/e_ebird.ts",
    from: "totalBS >= memState",
    to: "totalBS > memState",
    tests: [ROUNDS],
    why: "section 7.3.2: the mix for TotalBS serves a load of TotalBS",
  },
  {
    id: "e2bird.beyond-the-largest",
    file: "src/policy/e2bird/e_ebird.ts",
    from: "totalBS >= memState) ?? largest)",
    to: "totalBS >= memState) ?? byLoad[0])",
    tests: [ROUNDS],
    why: "beyond the largest TotalBS its mix serves",
  },
  {
    id: "e2bird.kept-by-default",
    file: "src/policy/e2bird/offline.ts",
    from: "Math.max(counts[n] ?? 0, n < 2 ? 1 : 0)",
    to: "Math.max(counts[n] ?? 0, n < 1 ? 1 : 0)",
    tests: [ROUNDS],
    why: "section 7.3.2: workers of size 1 and size 2 are kept by default",
  },
  {
    id: "e2bird.max-inf",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "Math.min(service.ring.ready, maxInf - service.curInf)",
    to: "service.ring.ready",
    tests: [ROUNDS, POLICY],
    why: "Algorithm 1, line 3: at most MaxInf inferences are alive",
  },
  {
    id: "e2bird.alive-until-done",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "service.curInf += size;",
    to: "service.curInf += entries.length > 0 ? 0 : size;",
    tests: [ROUNDS],
    why: "Table 3: CurInf counts what workers compute",
  },
  {
    id: "e2bird.largest-first",
    file: "src/policy/e2bird/idle_workers.ts",
    from: "2 ** (31 - Math.clz32(fitting))",
    to: "fitting & -fitting",
    tests: [ROUNDS, POLICY],
    why: "section 7.2.2, Fig. 10: the idle queue is sorted, the largest first",
  },
  {
    id: "e2bird.fits-exactly",
    file: "src/policy/e2bird/idle_workers.ts",
    from: "Math.floor(log2(most))",
    to: "Math.ceil(log2(most))",
    tests: [ROUNDS, POLICY],
    why: "Algorithm 1, line 6: a worker runs when R fills it, never padded",
  },
  {
    id: "e2bird.busy-beyond-the-configuration",
    file: "src/policy/e2bird/idle_workers.ts",
    from: "this.#counts[n] > (this.#busy[n] ?? 0)",
    to: "this.#counts[n] > 0",
    tests: [POLICY, ROUNDS],
    why:
      "Algorithm 2, line 4: the queue has the workers of the configuration that are not busy",
  },
  {
    id: "e2bird.busy-workers",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "idle.remove(size); // l. 11",
    to: "",
    tests: [ROUNDS, POLICY],
    why: "Algorithm 1, line 11: a worker that runs leaves the idle queue",
  },
  {
    id: "e2bird.worker-idle-again",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "service.idle.add(size);",
    to: "",
    tests: [ROUNDS, POLICY],
    why: "section 7.2.2: a worker that is done is put back into the idle queue",
  },
  {
    id: "e2bird.used-up",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "service.rest -= size; // l. 9",
    to: "",
    tests: [ROUNDS],
    why: "Algorithm 1, line 9: what a worker takes is taken off R",
  },
  {
    id: "e2bird.slice-by-slice",
    file: "src/policy/e2bird/slot_ring.ts",
    from: "places.push(this.#head++);",
    to: "places.push(this.#head + count - 1 - 2 * i), this.#head++;",
    tests: [POLICY],
    why:
      "section 5.1: a batch is a slice of neighbours from DevPtr on, whose slots are given back",
  },
  {
    id: "e2bird.slots-in-use",
    file: "src/policy/e2bird/slot_ring.ts",
    from: "this.#tail - this.#oldest === this.capacity",
    to: "this.#tail - this.#head === this.capacity",
    tests: [ROUNDS],
    why:
      "section 5.1, Fig. 5: the pool is a circular buffer; a batch keeps its slots until it is done",
  },
  {
    id: "e2bird.holes",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "Math.min(rest, ring.ready)",
    to: "rest",
    tests: [ROUNDS],
    why:
      "holes behind a slice leave the ring with it: a round starts no more than is ready",
  },
  {
    id: "e2bird.pools-take-turns",
    file: "src/policy/e2bird/elastic_engine.ts",
    from: "turn = (turn + i + 1) % length;",
    to: "",
    tests: [ROUNDS],
    why:
      "each model has an engine of its own: none waits until another's pool is empty",
  },
  {
    id: "e2bird.every-combination",
    file: "src/policy/e2bird/offline.ts",
    from: "count * 2 ** n <= rest",
    to: "count * 2 ** n < rest",
    tests: [POLICY],
    why: "Eq. 6: the offline phase profiles every combination of workers",
  },
  {
    id: "e2bird.best-mix",
    file: "src/policy/e2bird/offline.ts",
    from: "const isBetter = ns < bestNs ||",
    to: "const isBetter = ns > bestNs || bestNs === Infinity ||",
    tests: [POLICY],
    why: "section 7.3.2: the mix of the lowest latency is kept",
  },
];
