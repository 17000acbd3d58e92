import type { Claim } from "../claim.ts";

/** What the E2bird paper (Cui et al., IEEE TPDS) claims. */
export const CLAIMS: readonly Claim[] = [
  {
    id: "EB-01",
    where: "abstract",
    says:
      "Against TensorFlow Serving latency falls by up to 82.4 %, throughput rises by up to 62.8 %, QoS kept",
    check: "shape",
  },
  {
    id: "EB-02",
    where: "Table 1",
    says:
      "Latency and throughput of ResNet-50, -101 and -152 at batches of 4 to 32",
    check: "config",
  },
  {
    id: "EB-03",
    where: "section 3.2, Fig. 2",
    says:
      "TensorFlow Serving waits 0 (NO_Wait) or 30 ms (OPT_Wait) for at most 32, Static fills all 32; the rate " +
      "rises every 150 requests",
    check: "config",
  },
  {
    id: "EB-04",
    where: "section 5.2, Eq. 1",
    says:
      "Overlapping copies and computation gains t_T / (t_T + t_C) of throughput at most",
    check: "exact",
  },
  {
    id: "EB-05",
    where: "section 5.3, Fig. 7",
    says:
      "256 pictures are copied in N pieces in almost the same time for every N: less than a millisecond apart",
    check: "hardware",
  },
  {
    id: "EB-06",
    where: "section 6.3, Fig. 7",
    says:
      "256 inferences take N workers of batch 256 / N the same time up to N = 64, and longer at 128 and 256",
    check: "shape",
  },
  {
    id: "EB-07",
    where: "section 7.1, Fig. 9",
    says:
      "A convolution's time grows about linearly with the batch: by im2col smoothly, by winograd in steps",
    check: "shape",
  },
  {
    id: "EB-08",
    where: "section 7.1, Eq. 2-5",
    says:
      "Two workers that run beside each other keep the QoS when the newcomer's share lies between two bounds",
    check: "exact",
  },
  {
    id: "EB-09",
    where: "section 7.2.1",
    says:
      "N-Ebird's workers for batches of at most 32 are 1, 1, 2, 4, 8, 16, which compose every load",
    check: "exact",
  },
  {
    id: "EB-10",
    where: "section 7.2.2, Fig. 10",
    says:
      "Of 12 ready inputs the worker of 8 takes the first 8, the worker of 4 the others",
    check: "exact",
  },
  {
    id: "EB-11",
    where: "sections 7.2.2 and 7.3.3",
    says:
      "A decision costs N-Ebird O(log M), E-Ebird O(M log M) at most, with M live workers",
    check: "exact",
  },
  {
    id: "EB-12",
    where: "section 7.3.1, Fig. 12",
    says:
      "ResNet-152, 32 inferences: two workers of 8 and one of 16 take 85.3 ms, one of 32 93.7 ms, the worst mix " +
      "four times as long",
    check: "shape",
  },
  {
    id: "EB-13",
    where: "section 7.3.2, Table 4",
    says: "ResNet-152's mixes by load, and the engine that satisfies them all",
    check: "exact",
  },
  {
    id: "EB-14",
    where: "section 8.1, Table 5",
    says:
      "A Titan RTX of 72 SMs, six networks, batches of at most 32, a QoS target of 200 ms",
    check: "config",
  },
  {
    id: "EB-15",
    where: "section 8.2",
    says:
      "400 requests, the first 150 at a low rate, 250 at one that brings TensorFlow Serving close to 200 ms",
    check: "config",
  },
  {
    id: "EB-16",
    where: "section 8.2, Fig. 13",
    says:
      "N-Ebird's latency is 44.6 to 70.9 % below TensorFlow Serving's at low load, 7.4 to 53.1 % at high load",
    check: "shape",
  },
  {
    id: "EB-17",
    where: "section 8.2, Fig. 13",
    says:
      "E-Ebird's latency is 5 to 30 % below N-Ebird's at high load, about equal at low load",
    check: "shape",
  },
  {
    id: "EB-18",
    where: "section 8.3, Fig. 14, section 9",
    says:
      "Throughput with the QoS kept: N-Ebird 34.4 % above TensorFlow Serving, E-Ebird 9.9 % above N-Ebird, 47.4 % " +
      "together",
    check: "shape",
  },
  {
    id: "EB-19",
    where: "section 8.5, Fig. 17",
    says:
      "Memory: 15.2 % more than TensorFlow Serving without reuse and sharing, 59.4 % less with them",
    check: "shape",
  },
];
