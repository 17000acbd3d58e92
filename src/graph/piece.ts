/** A piece of a slot. */
export interface Piece {
  /** From the slot's start. */
  readonly offset: number;
  readonly bytes: number;
}
