/** DVABatch's rules (Cui et al., USENIX ATC 2022): meta operations, buffer pairs and executors, Policies I to III. */
import type { MutantList } from "../mutant.ts";

const GOLDEN = "test/policy/dvabatch_test.ts";
const PROPERTIES = "test/policy/dvabatch_property_test.ts";
const TABLE = "test/policy/query_table_test.ts";
const DIR = "src/policy/dvabatch";

export const MUTANTS: MutantList = [
  {
    id: "dvabatch.serial-parts",
    file: `${DIR}/query_table.ts`,
    from: "return batch.line[0] === batch;",
    to: "return true;",
    tests: [GOLDEN],
    why:
      "Section 7.2, Policy II, and Fig. 3 case II: the parts of a split run in the serial manner",
  },
  {
    id: "dvabatch.serial-nested-parts",
    file: `${DIR}/query_table.ts`,
    from: "line.splice(line.indexOf(batch), 1, ...parts);",
    to: "line.splice(0, line.length, ...parts);",
    tests: [GOLDEN, PROPERTIES],
    why:
      "Section 7.2: a part that is split again is still before the parts behind it",
  },
  {
    id: "dvabatch.parallel-parts",
    file: `${DIR}/query_table.ts`,
    from: 'if (this.splitManner === "serial") {',
    to: "{",
    tests: [GOLDEN],
    why: "The option splitManner: parts as a pipeline, as before",
  },
  {
    id: "dvabatch.stretch-latest",
    file: `${DIR}/query_table.ts`,
    from: "batch.createdNs >= latest.createdNs",
    to: "batch.createdNs < latest.createdNs",
    tests: [TABLE, GOLDEN],
    why:
      "Section 5.2.2: stretch is performed on the latest batch of the batch table only",
  },
  {
    id: "dvabatch.stretch-holds-queued",
    file: `${DIR}/query_table.ts`,
    from: "this.held[stage - 1].push(item);",
    to: "this.queues[stage].push(item);",
    tests: [GOLDEN, TABLE],
    why:
      "Section 5.2.2: what of a stretched batch waits to go on waits for those who catch up",
  },
  {
    id: "dvabatch.stretch-merges",
    file: `${DIR}/query_table.ts`,
    from: "const isWhole = batch.completed[stage] === batch.queries.length;",
    to: "const isWhole = true;",
    tests: [GOLDEN, TABLE],
    why:
      "Section 5.2.2 and Fig. 8(b): status_map says when the others have caught up; then one item goes on",
  },
  {
    id: "dvabatch.parts-are-never-stretched",
    file: `${DIR}/query_table.ts`,
    from: "child.fixed = true;",
    to: "",
    tests: [GOLDEN, TABLE],
    why:
      "Section 5.2.2: batches made by split inherit that they are not stretched",
  },
  {
    id: "dvabatch.split-is-foreseen",
    file: `${DIR}/pipeline.ts`,
    from: "batch.fixed = true;",
    to: "",
    tests: [GOLDEN],
    why:
      "Section 5.2.2: a batch of which a split is perceived is not stretched",
  },
  {
    id: "dvabatch.split-is-foreseen-at-any-stage",
    file: `${DIR}/pipeline.ts`,
    from:
      "for (let stage = 0; stage < this.stages.length - 1; stage++) {\n      if (schedule.split",
    to: "for (let stage = 0; stage < 1; stage++) {\n      if (schedule.split",
    tests: [GOLDEN],
    why:
      "Section 5.2.2: a potential split at any stage is known when the batch is made",
  },
  {
    id: "dvabatch.split-at-later-stages",
    file: `${DIR}/pipeline.ts`,
    from: "const sizes = start === 0\n",
    to: "const sizes = start === 0 && stage === 0\n",
    tests: [GOLDEN],
    why:
      "Section 7.2, Fig. 13: whether to split is asked whenever a stage completes",
  },
  {
    id: "dvabatch.split-when-it-pays",
    file: `${DIR}/schedule.ts`,
    from: "wholeNs === 0 ||",
    to: "wholeNs !== 0 ||",
    tests: [GOLDEN],
    why: "Section 7.2, Policy II: split when T_remain(b) >= 2 T_remain(b / 2)",
  },
  {
    id: "dvabatch.split-at-equality",
    file: `${DIR}/schedule.ts`,
    from: "wholeNs < (1 - options.splitTolerance) *",
    to: "wholeNs <= (1 - options.splitTolerance) *",
    tests: [GOLDEN],
    why: "Section 7.2, Fig. 13: equal times are enough to split",
  },
  {
    id: "dvabatch.split-by-what-remains",
    file: `${DIR}/dvabatch.ts`,
    from: "durationNs(stages.slice(stage + 1).flat(), rows, profile);",
    to: "durationNs(stages.flat(), rows, profile);",
    tests: [GOLDEN],
    why: "Section 7.2, Policy II: T_remain is of the stages still to come",
  },
  {
    id: "dvabatch.split-again",
    file: `${DIR}/schedule.ts`,
    from:
      "return [...halves(large, stage, options), ...halves(small, stage, options)];",
    to: "return [large, small];",
    tests: [GOLDEN],
    why: "Section 3.2, Fig. 3 case II: from 4 to 1 behind one stage",
  },
  {
    id: "dvabatch.policies-ii-and-iii-together",
    file: `${DIR}/schedule.ts`,
    from:
      "return { admit: (view) => admitStretch(view, options), split: halving };",
    to:
      "return { admit: (view) => admitStretch(view, options), split: whole };",
    tests: [GOLDEN],
    why:
      "Section 7.2: with operator diversity Policies II and III work together",
  },
  {
    id: "dvabatch.window-of-policy-i",
    file: `${DIR}/dvabatch.ts`,
    from:
      '(policy === "I" ? durationNs(stages[0], batchSizeMax, profile) : 0);',
    to: "0;",
    tests: [GOLDEN],
    why:
      "Section 7.2, Policy I: the window is the first stage's time at bs_max",
  },
  {
    id: "dvabatch.window-of-first-stage",
    file: `${DIR}/dvabatch.ts`,
    from: "durationNs(stages[0], batchSizeMax, profile)",
    to: "durationNs(stages.flat(), batchSizeMax, profile)",
    tests: [GOLDEN],
    why:
      "Section 7.2, Policy I: the window is the first stage's time, not the model's",
  },
  {
    id: "dvabatch.window-is-kept",
    file: `${DIR}/schedule.ts`,
    from:
      "if (room <= 0 || !view.canStart) return undefined;\n  const open = openWindow(view, options);\n  if (open) return open;",
    to: "if (room <= 0 || !view.canStart) return undefined;",
    tests: [GOLDEN],
    why: "Section 7.2, Policy I: there is a window",
  },
  {
    id: "dvabatch.window-ends-when-full",
    file: `${DIR}/schedule.ts`,
    from:
      "if (waiting.size >= batchSizeMax || nowNs >= untilNs) return undefined;",
    to: "if (nowNs >= untilNs) return undefined;",
    tests: [GOLDEN],
    why:
      "Section 3, Fig. 3: received queries are issued once there are as many as a batch takes",
  },
  {
    id: "dvabatch.in-flight-at-most-bs-max",
    file: `${DIR}/schedule.ts`,
    from: "const room = options.batchSizeMax - view.inFlight;",
    to: "const room = options.batchSizeMax;",
    tests: [GOLDEN],
    why: "Section 7.2, Policy I: active queries never exceed bs_max",
  },
  {
    id: "dvabatch.in-flight-until-they-leave",
    file: `${DIR}/pipeline.ts`,
    from: "if (stage === this.stages.length - 1) this.#inFlight -= item.num;",
    to: "if (stage === 0) this.#inFlight -= item.num;",
    tests: [GOLDEN],
    why:
      "Section 7.2, Policy I: a query is in the software pipeline until its last stage is done",
  },
  {
    id: "dvabatch.classes-of-length",
    file: `${DIR}/schedule.ts`,
    from: "const length = Math.max(1, inputLength(query.request));",
    to: "const length = 1;",
    tests: [GOLDEN],
    why: "Section 7.2, Policy I: queries are clustered by their input sizes",
  },
  {
    id: "dvabatch.classes-by-ratio",
    file: `${DIR}/schedule.ts`,
    from: "log(length) / log(options.lengthRatio) - 1e-9",
    to: "length / options.lengthRatio - 1e-9",
    tests: [GOLDEN],
    why:
      "Section 7.2, Policy I: similar sizes share a batch; similar is a ratio",
  },
  {
    id: "dvabatch.comp-wait",
    file: `${DIR}/schedule.ts`,
    from: "if (processedNs > compWaitNs) return admitNew(view, options);",
    to: "",
    tests: [GOLDEN],
    why:
      "Section 7.2, Policy III: no stretch of a batch that was processed for T_comp_wait",
  },
  {
    id: "dvabatch.comp-wait-from-first-run",
    file: `${DIR}/pipeline.ts`,
    from: "if (Number.isNaN(batch.startedNs)) batch.startedNs = nowNs;",
    to: "batch.startedNs = nowNs;",
    tests: [GOLDEN],
    why:
      "Section 7.2, Policy III: T_comp_wait counts from when the batch began to be processed",
  },
  {
    id: "dvabatch.comp-wait-of-profile",
    file: `${DIR}/dvabatch.ts`,
    from: 'const { compWaitNs = "profile" } = options;',
    to: "const { compWaitNs = 100_000_000 } = options;",
    tests: [GOLDEN],
    why: "T_comp_wait is what the profile says unless it is given",
  },
  {
    id: "dvabatch.comp-wait-while-it-pays",
    file: `${DIR}/comp_wait.ts`,
    from: "if (savedNs < leastNs) continue;",
    to: "if (savedNs < 0) continue;",
    tests: [GOLDEN],
    why:
      "Policy III with the profile's T_comp_wait: a batch waits while that saves a twentieth",
  },
  {
    id: "dvabatch.stretch-to-bs-max",
    file: `${DIR}/pipeline.ts`,
    from: "const room = this.#options.batchSizeMax - batch.queries.length;",
    to: "const room = this.#options.batchSizeMax;",
    tests: [GOLDEN, PROPERTIES],
    why: "Section 8.1: no batch has more than bs_max queries",
  },
  {
    id: "dvabatch.input-buffer-invalid",
    file: `${DIR}/buffer_pairs.ts`,
    from: "this.#invalid[stage][pair] = true;",
    to: "this.#invalid[stage][pair] = false;",
    tests: [GOLDEN, PROPERTIES],
    why:
      "Section 6.1: a buffer whose successor is in use is no input; with one pair stages run serially",
  },
  {
    id: "dvabatch.output-buffer-free",
    file: `${DIR}/buffer_pairs.ts`,
    from: 'return output === "available" || output === "invalid";',
    to: "return true;",
    tests: [GOLDEN],
    why: "Section 6.1: an output buffer that is read or written is no output",
  },
  {
    id: "dvabatch.output-buffer-may-be-invalid",
    file: `${DIR}/buffer_pairs.ts`,
    from: 'return output === "available" || output === "invalid";',
    to: 'return output === "available";',
    tests: [GOLDEN],
    why: "Section 6.1: an invalid buffer may be an output",
  },
  {
    id: "dvabatch.checking-state",
    file: `${DIR}/stage_executor.ts`,
    from: "if (!pairs.isLegitimate(stage, item.pair)) {",
    to: "if (false as boolean) {",
    tests: [PROPERTIES, GOLDEN],
    why: "Section 6.2, Fig. 11: the batch's own pair is checked before working",
  },
  {
    id: "dvabatch.active-with-another-pair",
    file: `${DIR}/stage_executor.ts`,
    from: "if (!this.#isLast && pairs.legitimate(stage) < 0) return; // l. 9",
    to: "",
    tests: [GOLDEN],
    why:
      "Section 6.2, Fig. 10(b) and 11: an executor is active again only with another legitimate pair",
  },
  {
    id: "dvabatch.preceding-executor-after-active",
    file: `${DIR}/stage_executor.ts`,
    from: "this.#finishedPair = item.pair;",
    to: "this.pairs.makeAvailable(this.stage - 1, item.pair);",
    tests: [GOLDEN, PROPERTIES],
    why:
      "Section 6.2, Fig. 10(b): the executor before is let go on when this one is active again, not when it is done",
  },
  {
    id: "dvabatch.time-even-stages",
    file: `${DIR}/stages.ts`,
    from: "const isDue = middle >= share * stages.length ||",
    to: "const isDue = current.length >= pieces.length / count ||",
    tests: [GOLDEN],
    why: "Section 7.1: operators are assigned to stages time-evenly",
  },
  {
    id: "dvabatch.executor-per-stage",
    file: `${DIR}/pipeline.ts`,
    from: "executor(stage, stage % workers)",
    to: "executor(stage, 0)",
    tests: [GOLDEN],
    why: "Section 6.3: each stage executor has a stream of its own",
  },
  {
    id: "dvabatch.one-stage-in-parallel",
    file: `${DIR}/pipeline.ts`,
    from: "this.executors = stages === 1\n",
    to: "this.executors = stages === 0\n",
    tests: [GOLDEN],
    why: "Section 3.1, Fig. 3 case I: both classes of length run at once",
  },
  {
    id: "dvabatch.later-stages-first",
    file: `${DIR}/pipeline.ts`,
    from:
      "for (let stage = this.stages.length - 1; stage > 0 && !work; stage--) {",
    to: "for (let stage = 1; stage < this.stages.length && !work; stage++) {",
    tests: [GOLDEN, PROPERTIES],
    why:
      "Where stages share a worker the later ones go first, or the split of Fig. 3 case II delays all",
  },
  {
    id: "dvabatch.stretch-before-new-work",
    file: `${DIR}/pipeline.ts`,
    from: 'this.#admit(nowNs, isIdle, ["stretch"]);',
    to: "",
    tests: [GOLDEN, PROPERTIES],
    why:
      "Section 5.2.2: a batch that is stretched is held before its next stage begins",
  },
];
