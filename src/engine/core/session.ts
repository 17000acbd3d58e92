import { Fifo } from "../../base/fifo.ts";
import { FrameGraph } from "../../graph/frame_graph.ts";
import type { StreamModel } from "../../graph/stream_model.ts";
import { type Dtype, elements, type TensorData } from "../../tensor/tensor.ts";

/** What a frame brings, in the order of its graph's inputs, and where its results are to go. */
export interface FrameRows {
  /** Written into the slot when the frame begins; copies, where it does not begin at once. */
  readonly values: readonly TensorData[];
  /** Arrays of the caller's, in the order of its graph's outputs; undefined: fresh ones. */
  readonly into: readonly (TensorData | undefined)[] | undefined;
}

/** Something that is done to a session between two frames. */
export interface SessionAction {
  /** Called once, when all frames pushed before have ended. */
  run(): void;
  /** Called instead, when the engine ends. */
  abandon(error: Error): void;
}

/**
 * A stream inside the engine: a graph, room in memory that it keeps, and what waits for its turn. One frame at a time
 * is a request like any other, as policies and observers see it.
 * @typeParam R its frames, as the engine knows them
 * @typeParam Slot what the executor keeps with it
 */
export class Session<R, Slot = unknown> {
  /**
   * The graph of all of its frames.
   * @internal
   */
  readonly frame: FrameGraph<R>;
  /** Belongs to the executor; undefined while it has no room. */
  slot: Slot | undefined = undefined;
  /** Whether it has room: not so while it is parked, and once it is closed. */
  isResident = false;
  /** Its state while it has no room; undefined: as at the beginning. */
  saved: Uint8Array | undefined = undefined;
  /** Frames done since it began, or was reset. */
  framesDone = 0;
  /** The frame under way: its rows are in flight, or it waits for the policy. */
  current: R | undefined = undefined;
  /**
   * Frames that wait, and what is to be done between them, in order.
   * @internal
   */
  readonly line: Fifo<R | SessionAction> = new Fifo();
  /** Frames in `line`. */
  waiting = 0;
  /** Takes no frame any more. */
  isClosed = false;
  /** Copies of frames that have begun, to be written over. */
  readonly #spare: TensorData[][] = [];

  /**
   * `EngineCore.open` makes sessions.
   * @internal
   * @throws TypeError or RangeError on a model whose frames are none
   */
  constructor(
    /** What its frames go through. */
    readonly model: StreamModel,
    /** Frames that may wait for the one under way. */
    readonly pendingMax: number,
    /** May be parked while it is idle, when another one finds no room. */
    readonly parksIdle: boolean,
  ) {
    this.frame = new FrameGraph(model);
  }

  /** The frame under way is done: what it left is the state. */
  advance(): void {
    this.frame.turn();
    this.framesDone++;
  }

  /** A copy of a frame's rows, in arrays that it used before if it has any. */
  copyOf(values: readonly TensorData[]): TensorData[] {
    const copies = this.#spare.pop() ??
      this.frame.inputs.map(({ row }) =>
        elements(row.dtype as Dtype, row.width)
      );
    for (let i = 0; i < copies.length; i++) {
      // Of one type and length: see FrameGraph.read.
      (copies[i] as Float32Array).set(values[i] as Float32Array);
    }
    return copies;
  }

  /**
   * A copy of a frame that is taken later.
   * @throws TypeError or RangeError on a frame that is none
   */
  copyOfFrame(frame: unknown): Record<string, TensorData> {
    const copies = this.copyOf(this.frame.read(frame));
    return Object.fromEntries(
      this.frame.inputs.map(({ name }, i) => [name, copies[i]]),
    );
  }

  /** It is to take no more memory than it has to: copies are made anew. */
  forgetCopies(): void {
    this.#spare.length = 0;
  }

  /** What `copyOf` returned is not read any more. */
  giveBack(copies: readonly TensorData[]): void {
    this.#spare.push(copies as TensorData[]);
  }
}
