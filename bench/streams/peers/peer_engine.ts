/**
 * Streams on ONNX Runtime under the same load as the engine's, in the same thread: each with sessions of its own, as
 * applications have it, or all with the same ones, states handed in and out. A frame after the other, in the order in
 * which they come: neither runtime's sessions take frames of several streams where a file declares a batch of one.
 */
import type { Frame } from "../../../src/graph/stream_model.ts";
import type { TrialEngine } from "../trial.ts";
import type { OrtSession } from "../../kernels/peers/ort.ts";
import type { PeerSubject } from "../models.ts";
import type { PushFrame } from "./callers.ts";
import { StreamFile } from "./stream_file.ts";
import type { StreamPeer } from "./runtimes.ts";

/** Whether each stream has sessions of its own. */
export type Sessions = "each" | "one";

export class PeerEngine implements TrialEngine {
  readonly threads = 0;
  readonly label: string;
  readonly #files: readonly StreamFile[];
  readonly #sessions: OrtSession[][] = [];
  #opened = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    peer: StreamPeer,
    readonly subject: PeerSubject,
    readonly sessions: Sessions,
  ) {
    const whose = sessions === "each" ? "sessions of their own" : "one session";
    this.label = `${peer.name}, ${whose}`;
    this.#files = subject.files(1)!.map((file) => new StreamFile(peer, file));
  }

  /** Makes what so many streams need: sessions are not made while frames are due. */
  async prepare(streams: number): Promise<void> {
    const count = this.sessions === "each" ? streams : 1;
    while (this.#sessions.length < count) {
      const made: OrtSession[] = [];
      for (const file of this.#files) made.push(await file.session());
      this.#sessions.push(made);
    }
  }

  open(): ReturnType<TrialEngine["open"]> {
    const { input, output, caller } = this.subject;
    const sessions = this.#sessions[this.#opened++ % this.#sessions.length];
    const push: PushFrame = caller(
      this.#files.map((file, i) => file.open(sessions[i])),
    );
    return {
      push: (frame: Frame) => {
        const pushed = this.#last.then(async () => {
          const data = await push(frame[input] as Float32Array);
          const tensor = { dtype: "f32", shape: [data.length], data } as const;
          return { outputs: { [output]: tensor } };
        });
        this.#last = pushed.catch(() => {});
        return pushed;
      },
      close: async () => void await this.#last,
    };
  }

  async release(): Promise<void> {
    for (const session of this.#sessions.flat()) await session.release();
  }
}
