import type { Claim } from "../claim.ts";

/** What the LazyBatching paper claims. */
export const CLAIMS: readonly Claim[] = [
  {
    id: "LB-01",
    where: "Abstract, sections I and VIII",
    says:
      "Averaged over the windows of graph batching and the three networks, LazyBatching gains 15x in " +
      "response time, 1.5x in throughput and 5.5x in SLA satisfaction",
    check: "shape",
  },
  {
    id: "LB-02",
    where: "Section III-A, Fig. 3",
    says:
      "Once inputs are collected, ResNet's throughput is saturated past a batch of 16",
    check: "shape",
  },
  {
    id: "LB-03",
    where: "Fig. 4",
    says:
      "Requests at 0, 4 and 12: a batching window of 4 instead of 2 makes no batch larger and only delays " +
      "Req1 and Req2",
    check: "exact",
  },
  {
    id: "LB-04",
    where: "Fig. 5",
    says:
      "16, 250 and 2000 requests/s stand for low, medium and high traffic in the study of ResNet's window, " +
      "from 5 to 99 ms",
    check: "config",
  },
  {
    id: "LB-05",
    where: "Section III-B, Fig. 6",
    says:
      "Five requests to an RNN, at most 3 per batch: graph batching's first batch ends at 5, Req3-5 wait " +
      "for it; cellular batching takes Req3 in at 1, Req4 at 4, and runs Req5 with Req3-4 at 5",
    check: "exact",
  },
  {
    id: "LB-06",
    where: "Section III-B, Fig. 7",
    says:
      "Two convolutions before and two fully connected layers behind the recurrent part: cellular batching " +
      "cannot take Req3-5 into the running batch and is left with graph batching",
    check: "exact",
  },
  {
    id: "LB-07",
    where: "Section IV-A, Fig. 8",
    says:
      "Nodes A to E: Req1-2 are preempted at 6, Req3-5 have caught up through B at 8, all go on from C",
    check: "exact",
  },
  {
    id: "LB-08",
    where: "Section IV-B, Fig. 10",
    says:
      "Nodes A to H: Req1 is pushed at 2, Req2 at 4, Req3 at 5; Req2-3 merge at 6 (B), with Req1 at 7 (C)",
    check: "exact",
  },
  {
    id: "LB-09",
    where: "Section IV-C, Eq. 1",
    says: "Slack of Req1 in Fig. 10 without batching: 30 - (2 + 8) = 20",
    check: "exact",
  },
  {
    id: "LB-10",
    where: "Section IV-C, Eq. 2",
    says:
      "With N requests batched, slack is the SLA less the wait and the sum of the N single-input times",
    check: "exact",
  },
  {
    id: "LB-11",
    where: "Section IV-C, Fig. 11",
    says:
      "Of WMT 2019's English sentences about 70 % have less than 20 words; of the German ones about 90 % " +
      "have at most 30",
    check: "data",
  },
  {
    id: "LB-12",
    where: "Sections IV-C and VI-C",
    says:
      "dec_timesteps is 32 by default, for a coverage of 90 %; 10 steps cover 16 % of the outputs",
    check: "data",
  },
  {
    id: "LB-13",
    where: "Table I",
    says:
      "The NPU: 128 x 128 at 700 MHz, 8 MB for activations and 4 MB for weights, 8 channels, 100 cycles, " +
      "360 GB/s",
    check: "config",
  },
  {
    id: "LB-14",
    where: "Table II",
    says:
      "A request alone takes 1.1 ms on ResNet, 7.2 ms on GNMT and 2.4 ms on the Transformer",
    check: "config",
  },
  {
    id: "LB-15",
    where: "Section V",
    says:
      "Poisson arrivals in three classes (to 256, to 500, beyond 500 requests/s), sentences of at most 80 " +
      "words, English to German, of a test set",
    check: "config",
  },
  {
    id: "LB-16",
    where: "Section VI",
    says:
      "At most 64 per batch, an SLA of 100 ms, 20 runs, error bars from the 25th to the 75th percentile",
    check: "config",
  },
  {
    id: "LB-17",
    where: "Section VI-A, Fig. 12",
    says:
      "Mean latency of the best graph batching over LazyBatching's: 5.3x on ResNet, 2.7x on GNMT, 2.5x on " +
      "the Transformer",
    check: "shape",
  },
  {
    id: "LB-18",
    where: "Section VI-A, Fig. 13",
    says:
      "Throughput over the best graph batching's: 1.1x on ResNet, 1.3x on GNMT, 1.2x on the Transformer",
    check: "shape",
  },
  {
    id: "LB-19",
    where: "Section VI-A, Fig. 14",
    says:
      "99th percentile on the Transformer at 1000 requests/s: 54 ms, the best graph batching's 123 ms",
    check: "shape",
  },
  {
    id: "LB-20",
    where: "Section VI-B, Fig. 15",
    says:
      "At 1000 requests/s two thirds of the graph batching configurations are late for more than half of " +
      "the requests even at 100 ms; LazyBatching for none down to 20 ms on ResNet, 40 on GNMT, 60 on the " +
      "Transformer, and is close to Oracle",
    check: "shape",
  },
  {
    id: "LB-21",
    where: "Section VI-C, Fig. 16",
    says:
      "VGGNet, MobileNet, Listen-Attend-and-Spell and BERT: 1.5x in latency, 1.3x in throughput, 2.9x in " +
      "SLA satisfaction; BERT is never late, even under Serial",
    check: "shape",
  },
  {
    id: "LB-22",
    where: "Section VI-C",
    says:
      "Transformer, SLA of 60 ms: nobody is late with dec_timesteps 32, 36 % are with 10",
    check: "shape",
  },
  {
    id: "LB-23",
    where: "Section VI-C",
    says:
      "Against graph batching of at most 16 and 32 per batch: 12x and 14x in latency, 1.3x in throughput",
    check: "shape",
  },
  {
    id: "LB-24",
    where: "Section VI-C, Fig. 17",
    says:
      "On a Titan Xp: 1.4x to 56x in latency, 1.3x fewer SLA violations (details for the Transformer)",
    check: "hardware",
  },
  {
    id: "LB-25",
    where: "Section VI-C",
    says:
      "Four co-located models: 2.4x in latency and 1.8x in throughput over graph batching",
    check: "shape",
  },
  {
    id: "LB-26",
    where: "Section VI-D",
    says: "A decision takes O(1): only the top of the stack is looked at",
    check: "exact",
  },
  {
    id: "LB-27",
    where: "Section VI",
    says:
      "On ResNet, GNMT and the Transformer cellular batching performs identically to graph batching, as " +
      "none of them consists of recurrent layers only",
    check: "shape",
  },
];
