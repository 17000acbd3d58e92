/** Parts that a graph over a sequence is taken into, and where each finds what it reads. */
import type { OnnxGraph } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import type { Dim } from "../shapes/dim.ts";
import type { Role } from "./roles.ts";

/** Where an input of a group's graph comes from. */
export type GroupSource =
  /** A value that is computed on unfolding: a row for each position, or one. */
  | { readonly kind: "data"; readonly data: HostData }
  /** A result of another group: of the same position, or of the request. */
  | { readonly kind: "value"; readonly value: string }
  /** Of one position. */
  | {
    readonly kind: "pick";
    readonly of: HostData | string;
    readonly position: Dim;
  }
  | StateSource;

/** A state of a layer: behind the same position, behind a position, or behind all of them. */
export interface StateSource {
  readonly kind: "state";
  readonly layer: number;
  readonly direction: number;
  readonly state: "h" | "c";
  readonly at: "each" | "last" | { readonly position: Dim };
}

/** Rows that are computed on unfolding. */
export interface HostData {
  /** A value of the graph. */
  readonly value: string;
  readonly kind: Role["kind"];
  /** Of indices into a table of so many rows: as i32. */
  readonly below?: number;
}

/** What is computed together of a position, or of the request. */
export interface Group {
  readonly kind: Role["kind"];
  readonly stage: number;
  /** Values are those of one position. */
  readonly graph: OnnxGraph;
  readonly known: ReadonlyMap<string, KnownValue>;
  /** By input of the graph. */
  readonly sources: readonly GroupSource[];
}

/** Where steps of a layer read their input. */
export type LayerInput =
  | { readonly kind: "states"; readonly layer: number }
  | { readonly kind: "data"; readonly data: HostData }
  | { readonly kind: "value"; readonly value: string };

/** A first state of a direction. */
export type InitialState =
  | { readonly kind: "constant"; readonly data: Float32Array }
  | { readonly kind: "row"; readonly data: HostData; readonly index: number }
  | GroupSource;

/** Layers that somebody needs, by their place among all. */
export interface LayerSources {
  readonly x: LayerInput;
  /** By direction and state. */
  readonly initial: readonly (readonly InitialState[])[];
}

export interface Groups {
  /** In the order in which they run. */
  readonly groups: readonly Group[];
  readonly layers: ReadonlyMap<number, LayerSources>;
}
