import type { Claim } from "../claim.ts";

/** Gao, Yu, Wu, Li, "Low Latency Model Serving with Late Batching" (AISys 2017): every quantitative claim, in our words. */
export const CLAIMS: readonly Claim[] = [
  {
    id: "LT-01",
    where: "Section 1, Fig. 1",
    says:
      "LSTM, at most four per batch, one unit per cell: under dataflow batching requests 10-13 start at 105 and return at " +
      "112, the shortest having length 2; under late batching request 10 joins at 102 and returns at 105",
    check: "exact",
  },
  {
    id: "LT-02",
    where: "Section 3",
    says:
      "WMT15 Europarl with lengths of 1 to 330, and a set of fixed length 20; 100,000 requests each, Poisson arrivals, a " +
      "GTX Titan X",
    check: "data",
  },
  {
    id: "LT-03",
    where: "Section 3, Fig. 6 and 7",
    says:
      "At a fixed length of 20 the latency is 25 to 40 % below MXNet's while the peak is not reached",
    check: "shape",
  },
  {
    id: "LT-04",
    where: "Section 3, Fig. 5",
    says: "On WMT15 the peak is 25 to 33 % above MXNet's",
    check: "shape",
  },
  {
    id: "LT-05",
    where: "Section 3, Fig. 3 and 4",
    says:
      "TensorFlow Fold is strictly worse than both: merging graphs dominates its time",
    check: "shape",
  },
];
