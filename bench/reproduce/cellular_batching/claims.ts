import type { Claim } from "../claim.ts";

/**
 * Gao, Yu, Wu, Li, "Low Latency RNN Inference with Cellular Batching" (EuroSys 2018): every quantitative claim,
 * in our words.
 */
export const CLAIMS: readonly Claim[] = [
  {
    id: "CB-01",
    where: "Abstract, section 1",
    says:
      "LSTM and Seq2Seq against TensorFlow and MXNet: latency 17.5 to 90.5 % lower, throughput 25 to 60 % higher",
    check: "shape",
  },
  {
    id: "CB-02",
    where: "Abstract, sections 1 and 7",
    says:
      "TreeLSTM against TensorFlow Fold and DyNet: 4 and 1.8 times the throughput, 90th percentile 87 and 28 % lower",
    check: "shape",
  },
  {
    id: "CB-03",
    where: "Section 2.2, Fig. 3",
    says:
      "The time of an LSTM step of hidden size 1024 is flat, then grows more slowly than the batch, and doubles with " +
      "it past 512, which has the best throughput; the trend is the same on a CPU",
    check: "shape",
  },
  {
    id: "CB-04",
    where: "Section 7.3, Fig. 3",
    says:
      "An LSTM step takes 185 us for 64 rows and 784 us for 512, and 250 us for 64 with scheduling and gathering",
    check: "hardware",
  },
  {
    id: "CB-05",
    where: "Section 3.2, Fig. 5",
    says:
      "Eight requests, at most four per batch, one unit per cell: graph batching runs req1-4 in 0..5 and req5-8 in " +
      "5..12; cellular batching has req1 done at 2 and runs req2-5 then, has req2 and req3 done at 3 and takes req6 " +
      "and req7 in",
    check: "exact",
  },
  {
    id: "CB-06",
    where: "Section 4.3, Algorithm 1",
    says: "A worker gets five tasks at once by default",
    check: "config",
  },
  {
    id: "CB-07",
    where: "Section 4.4",
    says:
      "A complete binary tree of 16 leaves has 17 subgraphs: 16 leaves and the internal nodes together",
    check: "exact",
  },
  {
    id: "CB-08",
    where: "Section 7.1",
    says:
      "Four V100, hidden size 1024, Poisson arrivals; sentences of WMT-15 Europarl with mean length 24 and at most " +
      "330, 100,000 of them and as many pairs; 10,000 trees of the Stanford TreeBank",
    check: "data",
  },
  {
    id: "CB-09",
    where: "Section 7.1",
    says:
      "The padding baselines have buckets of width 10, 33 of them, served round robin, batches of at most 512, no " +
      "timeout",
    check: "config",
  },
  {
    id: "CB-10",
    where: "Section 7.2, Fig. 7a",
    says:
      "LSTM on one GPU, at most 512 per batch: the 90th percentile stays at 12 ms below 8000 requests/s, the peak is " +
      "20,000; the baselines have at least 25 ms, and more than 500 ms at 16,000",
    check: "shape",
  },
  {
    id: "CB-11",
    where: "Section 7.2, Fig. 7b",
    says:
      "Batches of at most 512 have about the latency of at most 64 at low and moderate load, and a much higher peak",
    check: "shape",
  },
  {
    id: "CB-12",
    where: "Section 7.2, Fig. 8",
    says:
      "Buckets of width 40 have the lower latency at low load, of width 1 the best peak and more latency; 10 is " +
      "between",
    check: "shape",
  },
  {
    id: "CB-13",
    where: "Section 7, highlights",
    says:
      "Below half of the baselines' peak the 90th percentile is 37.5 to 90.5 % (LSTM) and 17.5 to 82.6 % (Seq2Seq) " +
      "lower; peaks are 25 % and 60 % higher",
    check: "shape",
  },
  {
    id: "CB-14",
    where: "Section 7.3, Fig. 9",
    says:
      "At 5000 requests/s the 99th percentile of queueing is 1.38 ms, which five steps of 0.25 ms explain, and more " +
      "than 100 ms for the baselines",
    check: "shape",
  },
  {
    id: "CB-15",
    where: "Section 7.3",
    says:
      "Buckets of width 10 pad length 21 to 30, which costs almost 50 % (9 of 21)",
    check: "exact",
  },
  {
    id: "CB-16",
    where: "Section 7.3, Fig. 10",
    says:
      "About 99 % of Europarl's sentences are shorter than 100 words, the longest has 330",
    check: "data",
  },
  {
    id: "CB-17",
    where: "Section 7.3, Fig. 11",
    says:
      "At a fixed length of 24 the device can do 53 batches of 512, 27,136 requests/s; BatchMaker reaches 87 % of it",
    check: "exact",
  },
  {
    id: "CB-18",
    where: "Section 7.3, Fig. 11",
    says:
      "More variance of lengths (24, at most 50, at most 100) costs the baselines latency and throughput; BatchMaker " +
      "keeps its latency at low and moderate load; at a fixed length the baselines have the higher peak",
    check: "shape",
  },
  {
    id: "CB-19",
    where: "Section 7.4",
    says:
      "Seq2Seq: a vocabulary of 30,000, decoding is 75 % of the computation and goes on for the reference's length; " +
      "the best batches are 512 for the encoder, 256 for the decoder",
    check: "config",
  },
  {
    id: "CB-20",
    where: "Section 7.4, Fig. 13",
    says:
      "Seq2Seq reaches 8500 requests/s on two GPUs and 17,000 on four; batches of 512 for the encoder gain 20 % for " +
      "its cells and 3.5 to 6 % in all",
    check: "shape",
  },
  {
    id: "CB-21",
    where: "Section 7.5, Fig. 14",
    says:
      "TreeLSTM on TreeBank, at most 64 per batch: 6.8 ms against DyNet's 9.5 (90th percentile, 1000 requests/s), " +
      "peaks of 3100 and 2100 requests/s",
    check: "shape",
  },
  {
    id: "CB-22",
    where: "Section 7.5, Fig. 15",
    says:
      "Identical trees of 16 leaves: BatchMaker's peak is 30 % below a hand-made graph of 31 cells, one after the " +
      "other, whose latency is higher",
    check: "shape",
  },
];
