import type { Claim } from "../claim.ts";

/** What the DVABatch paper (Cui et al., USENIX ATC 2022) claims. */
export const CLAIMS: readonly Claim[] = [
  {
    id: "DV-01",
    where: "Abstract, section 10",
    says:
      "On average latencies are 46.4 % lower than other batching's; the throughput is up to 2.12 times as high.",
    check: "shape",
  },
  {
    id: "DV-02",
    where: "Section 3.1, Fig. 3 case I",
    says:
      "A batch of three short queries and a long one, split by length: 2.5 T on average instead of 4 T.",
    check: "exact",
  },
  {
    id: "DV-03",
    where: "Section 3.2, Fig. 3 case II",
    says:
      "Operator A with four queries, B to D with one at a time: 2.875 T on average instead of 4 T.",
    check: "exact",
  },
  {
    id: "DV-04",
    where: "Section 3.3, Fig. 3 case III",
    says:
      "A lone query waits behind operator A for three later ones: 5.25 T on average instead of 8 T.",
    check: "exact",
  },
  {
    id: "DV-05",
    where: "Section 3.1, Fig. 4",
    says: "Sentences of GLUE mostly have 5 to 20 words, some more than 100.",
    check: "data",
  },
  {
    id: "DV-06",
    where: "Section 3.2, Fig. 5",
    says:
      "Of two GEMMs of ResNet-50 one has its preferred batch size at 1, the other at 8; GEMMs are 86 % of a network's time.",
    check: "shape",
  },
  {
    id: "DV-07",
    where: "Section 3.2, Fig. 6",
    says:
      "U-Net's former operators gain from batches above 32, the latter ones only from those below 8.",
    check: "shape",
  },
  {
    id: "DV-08",
    where: "Section 7.1",
    says:
      "Models are profiled at batches of 1, 2, 4, 8, 16, 32 and 64; the number of stages is found by 8 tries within 10 minutes.",
    check: "config",
  },
  {
    id: "DV-09",
    where: "Section 7.2, Fig. 13",
    says:
      "Policy II splits a batch into halves, one run after the other, when T_remain(64) is at least twice T_remain(32).",
    check: "exact",
  },
  {
    id: "DV-10",
    where: "Section 7.2",
    says:
      "Policy I: the window is the first stage's time at bs_max, and never more than bs_max queries are in flight. " +
      "Policy III: no batch is stretched once it has been processed for T_comp_wait.",
    check: "exact",
  },
  {
    id: "DV-11",
    where: "Section 8.1, Table 1",
    says:
      "Six networks on a Titan RTX, bs_max 64, a target of 200 ms, Poisson arrivals at 1/4, 3/5 and 9/10 of the peak; " +
      "BERT has the lengths of RTE.",
    check: "config",
  },
  {
    id: "DV-12",
    where: "Section 8.2, Fig. 14",
    says:
      "Mean latencies at low, medium and high load are 16.1, 39.0 and 57.7 % below ZeroBatch's and 35.4, 47.3 and " +
      "48.5 % below DelayBatch's, on average over six networks.",
    check: "shape",
  },
  {
    id: "DV-13",
    where: "Section 8.2, Fig. 16",
    says:
      "99th percentiles are 16.9, 27.4 and 53.7 % below ZeroBatch's and 45.2, 45.1 and 29.2 % below DelayBatch's.",
    check: "shape",
  },
  {
    id: "DV-14",
    where: "Section 8.3, Fig. 15",
    says:
      "The stepping load begins at 66/s, steps up every 2000 queries, and reaches 4000/s after 30,000.",
    check: "config",
  },
  {
    id: "DV-15",
    where: "Sections 8.3 and 8.4, Fig. 17",
    says:
      "The peak is 46.8 % above DelayBatch's on BERT base and 1.37 times as high on BERT large, and the same where inputs do not differ.",
    check: "shape",
  },
  {
    id: "DV-16",
    where: "Section 8.4",
    says:
      "The more lengths differ the higher is the gain: higher on SST-2 than on MRPC.",
    check: "shape",
  },
  {
    id: "DV-17",
    where: "Section 8.5, Fig. 18",
    says:
      "Split alone takes 15 % off DelayBatch's mean latency at high load; half of LinkNet's batches are above 50, of U-Net's above 30.",
    check: "shape",
  },
  {
    id: "DV-18",
    where: "Section 8.6, Fig. 19",
    says:
      "Two buffer pairs have the lowest mean latency at peak load, for every network.",
    check: "shape",
  },
  {
    id: "DV-19",
    where: "Section 8.7, Fig. 20",
    says:
      "The best number of stages is 2 for BERT base, 4 for LinkNet and ResNet-152; 20 are too many.",
    check: "shape",
  },
  {
    id: "DV-20",
    where: "Section 8.8, Fig. 21",
    says:
      "In a closed loop DVABatch takes 0.29 ms more than ZeroBatch; its buffers take 200 MB.",
    check: "hardware",
  },
];
