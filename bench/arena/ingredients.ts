/** The ingredients of `auto`, each with the change that takes it out. */
const STATE = "model_state.ts";
const POLICY = "auto.ts";

/** Files of the policy. */
export const FILES = [POLICY, STATE] as const;

/** A change of the policy's source that takes an ingredient out. */
export interface Ablation {
  readonly without: string;
  readonly file: (typeof FILES)[number];
  /** Occurs there exactly once. */
  readonly from: string;
  readonly to: string;
}

export const ABLATIONS: readonly Ablation[] = [
  {
    without: "sizes by the curve: everybody goes",
    file: STATE,
    from: "sorted.slice(0, rows)",
    to: "sorted.slice(0, this.batchSizeMax)",
  },
  {
    without: "those who will come, in a size",
    file: STATE,
    from: "Math.max(IDLE, 1 - takesNs(most) / most / parallel / gapNs)",
    to: "1",
  },
  {
    without: "an end to an overload",
    file: STATE,
    from: "[0.02, 1 / 128, 0.1]",
    to: "[0.02, 1 / 128, 1e-9]",
  },
  {
    without: "all workers for who is behind: one",
    file: STATE,
    from: "Math.max(1, this.#now.all / this.#shares)",
    to: "1",
  },
  {
    without: "rows that a request has in a pass: one",
    file: STATE,
    from: "this.#shares < Infinity && this.#widths[c]?.value || 1",
    to: "1",
  },
  {
    without: "a model's turn by all its requests: by those of a part",
    file: STATE,
    from: "...batch, perNs, why",
    to: "...batch, why",
  },
  {
    without: "sizes by what is known, where workers slow each other down",
    file: STATE,
    from: "this.costs.slowdown(workers, workers) > SLOWED",
    to: "false",
  },
  {
    without: "the shortest first: by arrival",
    file: STATE,
    from: "return a.tag.leftNs - b.tag.leftNs + agedNs || a.id - b.id;",
    to: "return a.id - b.id || agedNs;",
  },
  {
    without: "ageing",
    file: STATE,
    from: "[0.02, 1 / 128, 0.1]",
    to: "[0, 1 / 128, 0.1]",
  },
  {
    without: "steps learned: 32",
    file: STATE,
    from: "if (steps > 0) this.#steps.observe(",
    to: "if (steps < 0) this.#steps.observe(",
  },
  {
    without: "steps by what a request brings: their mean",
    file: STATE,
    from: "this.#steps.observe([1, request.tag.brought], steps);",
    to: "this.#steps.observe([1, 0], steps);",
  },
  {
    without: "parts of the way on their own: side by side",
    file: STATE,
    from: "grows < 0 ||",
    to: "grows >= -1 ||",
  },
  {
    without: "enough in one part on a steep curve: whoever is next",
    file: STATE,
    from: "!isFlat && (isUrgent || this.#now.shares > 1)",
    to: "!isFlat",
  },
  {
    without: "going together where workers slow each other down",
    file: STATE,
    from:
      "if (this.#goesTogether(batch.requests, free.length)) return undefined;",
    to: "",
  },
  {
    without: "what a pass takes of the device: only how many are busy",
    file: STATE,
    from: "if (this.#turns > 1) return",
    to: "if (rows >= 0) return",
  },
  {
    without: "room on the device for those behind",
    file: STATE,
    from: "this.#shares < Infinity ? Math.max(0, 1 - x) / (beside - x) : 0",
    to: "0",
  },
  {
    without: "one alone where going together saves nothing",
    file: STATE,
    from: "if (this.#times(rows) > PAYS * rows) requests.length = 1;",
    to: "",
  },
  {
    without: "setting aside who is late already",
    file: STATE,
    from: "nowNs + tag.leftNs > tag.dueNs",
    to: "nowNs + tag.leftNs > Infinity",
  },
  {
    without: "groups that are in time together: everybody goes",
    file: STATE,
    from: "dueNs < Infinity ? own :",
    to: "dueNs < Infinity ? Infinity :",
  },
  {
    without: "later, denser groups",
    file: STATE,
    from: "from < saved; from = 2 * from + 1",
    to: "from < 0; from++",
  },
  {
    without: "riding along of who is late",
    file: STATE,
    from: "own : Math.min(own, rides)",
    to: "own : 0",
  },
  {
    without: "more riding along of late frames of streams",
    file: STATE,
    from: '"stream" in this.model ? CLOSE : FREE',
    to: "FREE",
  },
  {
    without: "a limit to batches of who is late",
    file: STATE,
    from: "size > 1 && ns - heldNs > this.#slackNs / 2",
    to: "false",
  },
  {
    without: "larger batches of late frames of streams",
    file: STATE,
    from: '"stream" in this.model ? takesNs(1) : 0',
    to: "0",
  },
  {
    without: "the streams first whose frames have waited most",
    file: STATE,
    from: "inTurn ? rows + waitedNs / takesNs : rows / takesNs",
    to: "rows / takesNs",
  },
  {
    without: "a share for each model",
    file: STATE,
    from: "const isOwed = this.#owedNs > OTHERS * takesNs;",
    to: "const isOwed = false;",
  },
  {
    without: "lengths of all that came: of who came last",
    file: STATE,
    from: "{ ...extents[c], length: Math.round(this.#lengths[c].value) }",
    to: "extents[c]",
  },
];
