import { assert } from "../../base/assert.ts";
import { Fifo } from "../../base/fifo.ts";
import { alignUp } from "../../graph/slot_plan.ts";
import { ThreadClock, wallNs } from "./clock.ts";
import { TaskArena } from "../tensors/task_arena.ts";
import type { SlotTask } from "../tensors/slot.ts";
import type { TensorStore } from "../tensors/tensor_store.ts";
import type { Completion } from "./wall_executor.ts";
import {
  allowLinger,
  ARENA_OFFSET,
  CONTROL,
  ENTRY,
  entryAddress,
  RING_ENTRIES,
} from "./worker_ring.ts";

/** The engine's end of a worker's ring: tasks on their way to the worker, and completions from it. */
export class WorkerQueue {
  readonly #store: TensorStore;
  readonly #control: number;
  readonly #arenaBytes: number;
  #arena: TaskArena;
  /** In the ring, oldest first. */
  #inFlight: SlotTask[] = [];
  /** When each of them came into it. */
  #askedNs: number[] = [];
  /** The worker's. */
  #clock = new ThreadClock();
  /** Tasks for which ring or arena have no room yet, or that wait for a fresh worker. */
  #backlog = new Fifo<SlotTask>();
  /** Completions that are known and not fetched. */
  #known: Completion[] = [];
  #submitted = 0;
  #completed = 0;
  #paused = false;
  /** What the worker was told. */
  #lingerUs = 0;

  /** @param taskBytes room for tables of tasks behind the ring; as each takes whole lines of it, so does the room */
  constructor(store: TensorStore, control: number, taskBytes: number) {
    this.#store = store;
    this.#control = control;
    this.#arenaBytes = alignUp(taskBytes);
    this.#arena = this.#freshArena();
  }

  /** Queues a task behind those that are there. */
  push(task: SlotTask): void {
    if (this.#backlog.size > 0 || !this.#tryPush(task)) {
      this.#backlog.push(task);
    }
  }

  /** Tasks completed since the last call, in order; what waited takes their place. */
  poll(): Completion[] {
    if (!this.#paused) {
      this.#collect();
      this.#refill();
    }
    if (this.#known.length === 0) return NONE;
    const completions = this.#known;
    this.#known = [];
    return completions;
  }

  /** How long the worker may keep its news from the doorbell once it has nothing more to do; at first 0. */
  linger(us: number, doorbell: number): void {
    // What waits here has nobody else to bring it into the ring than an engine that hears of room.
    const allowedUs = this.#backlog.size > 0 ? 0 : us;
    if (this.#paused || allowedUs === this.#lingerUs) return;
    this.#lingerUs = allowedUs;
    const bell = { control: this.#control, doorbell };
    allowLinger(this.#store.words, bell, allowedUs, this.#completed);
  }

  /** The worker died: until `resume`, tasks wait here. */
  pause(): void {
    this.#paused = true;
  }

  /**
   * Takes back what a worker left undone, once it is certainly over: nobody writes to its words any more.
   * @returns the task that it had begun; undefined when it had none
   */
  takeBack(): SlotTask | undefined {
    this.#collect();
    const begun = this.#begun();
    const undone = [...this.#inFlight, ...this.#backlog];
    this.#backlog = new Fifo();
    for (const task of undone) this.#backlog.push(task);
    this.#askedNs = [];
    this.#clock = new ThreadClock();
    this.#inFlight = [];
    this.#arena = this.#freshArena();
    this.#submitted = 0;
    this.#completed = 0;
    return begun;
  }

  /** Reports the first task as completed without having executed it. */
  giveUp(): void {
    const task = this.#backlog.shift()!;
    const nowNs = wallNs();
    this.#known.push({ task, startNs: nowNs, endNs: nowNs });
  }

  /** A fresh worker is there, over a fresh control block. */
  resume(): void {
    this.#paused = false;
    this.#lingerUs = 0;
    this.#refill();
  }

  /** The task that a worker which is over was at; it may have died before it looked at its ring. */
  #begun(): SlotTask | undefined {
    const entry = entryAddress(this.#control, this.#completed);
    const startMs = this.#store.doubles[(entry >>> 3) + ENTRY.startMs / 2];
    return startMs === 0 ? undefined : this.#inFlight[0];
  }

  #freshArena(): TaskArena {
    return new TaskArena(
      this.#control + alignUp(ARENA_OFFSET),
      this.#arenaBytes,
    );
  }

  #collect(): void {
    const { words, doubles } = this.#store;
    const completed = Atomics.load(
      words,
      (this.#control >>> 2) + CONTROL.completed,
    );
    const count = (completed - this.#completed) | 0;
    assert(
      count >= 0 && count <= this.#inFlight.length,
      "a worker completes what it was given",
    );
    if (count === 0) return;
    const nowNs = wallNs();
    for (let i = 0; i < count; i++) {
      const entry = entryAddress(this.#control, this.#completed);
      this.#completed++;
      this.#arena.giveBack();
      this.#known.push({
        task: this.#inFlight.shift()!,
        ...this.#clock.span(
          doubles[(entry >>> 3) + ENTRY.startMs / 2],
          doubles[(entry >>> 3) + ENTRY.endMs / 2],
          this.#askedNs.shift()!,
          nowNs,
        ),
      });
    }
    Atomics.store(words, (this.#control >>> 2) + CONTROL.collected, completed);
  }

  #refill(): void {
    const backlog = this.#backlog;
    for (let task = backlog.first; task; task = backlog.first) {
      if (!this.#tryPush(task)) return;
      backlog.shift();
    }
  }

  #tryPush(task: SlotTask): boolean {
    if (this.#paused || this.#inFlight.length === RING_ENTRIES) return false;
    const tables = this.#arena.take(alignUp(this.#store.tables.bytes(task)));
    if (tables === undefined) return false;
    this.#store.tables.write(task, tables);
    const { words } = this.#store;
    const address = entryAddress(this.#control, this.#submitted);
    const entry = address >>> 2;
    words[entry + ENTRY.program] = this.#store.programId(task.cell);
    words[entry + ENTRY.rows] = task.nodes.length + task.padding;
    words[entry + ENTRY.tables] = tables;
    words[entry + ENTRY.padsDone] = task.padsDone ? 1 : 0;
    words[entry + ENTRY.paddedLength] = task.paddedLength;
    words[entry + ENTRY.quiet] = task.quiet ? 1 : 0;
    this.#store.doubles[(address >>> 3) + ENTRY.startMs / 2] = 0;
    this.#inFlight.push(task);
    this.#askedNs.push(wallNs());
    const submitted = (this.#control >>> 2) + CONTROL.submitted;
    this.#submitted++;
    Atomics.store(words, submitted, this.#submitted | 0);
    Atomics.notify(words, submitted);
    return true;
  }
}

const NONE: Completion[] = [];
