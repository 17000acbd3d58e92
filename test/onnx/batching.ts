/** Policies of each kind, with options by which several requests share a batch. */
export const BATCHING: Readonly<Record<string, Record<string, unknown>>> = {
  cellular: { batchSizeMax: 6 },
  late: { batchSizeMax: 5 },
  lazy: { batchSizeMax: 4, slaNs: 1e9 },
  dvabatch: { batchSizeMax: 4, stages: 2 },
  "e-ebird": { maxInf: 4 },
  serial: {},
};
