/** The words that a test and a thread which may die in it share. */
export const FUSE = {
  /** The thread dies at so many accesses from now; 0: it does not. */
  left: 0,
  /** How: an index of DEATHS. */
  death: 1,
  /** Accesses so far. */
  accesses: 2,
  /** 1 once it has died. */
  burnt: 3,
  /** 1: it never gets as far as being ready; it dies at its start if a fuse is lit, and is silent if not. */
  stillborn: 4,
  /** 1: looks at shared memory do not count, of which a thread that waits for work takes many. */
  writesOnly: 5,
  /** 1: it dies while it loads the kernels. */
  unloaded: 6,
} as const;

export const FUSE_WORDS = 7;

/** By an error that nobody catches, or without anybody being told. */
export const DEATHS = ["throw", "exit"] as const;
export type Death = (typeof DEATHS)[number];
