import type { TaskLengths } from "../corpus.ts";

/**
 * Tokens that an uncased BERT is given for the examples of GLUE tasks: word pieces, [CLS] and a [SEP] per
 * sentence, with the vocabulary of Nstats/my_bert 397800c6c7b4. Counts only, no text. Made by test/workload/derive_histograms.ts; not edited by hand.
 */
export const GLUE: readonly TaskLengths[] = [
  {
    name: "glue.rte",
    origin:
      "GLUE (Wang et al. 2018), RTE, training examples: data/RTE of amrnag/Specialized-Transformers fa673a93a5c2",
    licence: "tasks of their own terms; lengths only",
    examples: 2490,
    tokens: { mean: 70.2, p99: 197, max: 289 },
    counts: `
13 17x3 18x5 19x2 20x10 21x7 22x8 23x11 24x10 25x11 26x15 27x21 28x20 29x21 30x28 31x33 32x23
33x38 34x33 35x39 36x32 37x40 38x40 39x43 40x38 41x50 42x32 43x40 44x49 45x51 46x59 47x66 48x58
49x49 50x35 51x47 52x43 53x44 54x47 55x34 56x51 57x41 58x33 59x38 60x28 61x43 62x31 63x35 64x23
65x32 66x26 67x24 68x13 69x35 70x26 71x10 72x18 73x8 74x11 75x12 76x17 77x9 78x12 79x6 80x13
81x11 82x8 83x8 84x6 85x13 86x2 87x7 88x7 89x6 90x10 91x10 92x7 93x6 94x5 95x8 96x9 97x7 98x5
99x5 101x6 102x9 103x7 104x4 105x4 106x7 107x6 108x9 109x3 110x6 111x12 112x6 113x5 114x9 115x10
116x12 117x11 118x8 119x7 120x8 121x7 122x7 123x14 124x7 125x5 126x7 127x9 128x10 129x10 130x13
131x8 132x4 133x3 134x9 135x9 136x8 137x7 138x6 139x7 140x9 141x12 142x6 143x3 144x2 145x7
146x7 147x5 148x4 149x4 150x7 151x4 152x4 153x8 154x2 155x4 156x6 157x6 158x6 159x4 160x2 161x2
162x5 164x5 165x4 166x3 167x4 168x4 169x2 170x2 171x2 172x3 175x3 176x2 177 178 179x3 180 181x4
182x2 183x5 184x3 185x4 187 188x3 189x2 190x2 191x4 192x2 194x3 197x4 198 201 202x2 203x2 205x2
207 208 210x2 213 216 217 220 223x2 241 250 262 289
`,
  },
  {
    name: "glue.sst-2",
    origin:
      "GLUE (Wang et al. 2018), SST-2, training examples: data/SST-2 of forest-snow/alps 3c7ef2c98249, train",
    licence: "tasks of their own terms; lengths only",
    examples: 60614,
    tokens: { mean: 13.31, p99: 44, max: 66 },
    counts: `
3x1771 4x4825 5x5446 6x4803 7x4282 8x3750 9x3344 10x2936 11x2658 12x2361 13x2176 14x1927 15x1745
16x1596 17x1493 18x1374 19x1252 20x1150 21x1023 22x990 23x945 24x807 25x736 26x710 27x674 28x624
29x574 30x477 31x447 32x395 33x411 34x359 35x300 36x277 37x256 38x215 39x177 40x179 41x175
42x141 43x128 44x116 45x77 46x78 47x70 48x64 49x50 50x39 51x48 52x33 53x33 54x15 55x20 56x19
57x13 58x7 59x5 60x2 61x2 62x4 63x5 64 65x2 66x2
`,
  },
  {
    name: "glue.mrpc",
    origin:
      "GLUE (Wang et al. 2018), MRPC, training examples: data/MRPC of Nstats/my_bert 733d79335044",
    licence: "tasks of their own terms; lengths only",
    examples: 3668,
    tokens: { mean: 53.24, p99: 83, max: 103 },
    counts: `
19x2 21x2 22x3 23x2 24x2 25x11 26x15 27x12 28x29 29x19 30x20 31x31 32x46 33x37 34x46 35x46
36x63 37x70 38x82 39x61 40x72 41x86 42x73 43x74 44x92 45x112 46x97 47x91 48x76 49x88 50x93
51x105 52x84 53x110 54x108 55x95 56x91 57x86 58x97 59x116 60x103 61x119 62x89 63x74 64x106
65x73 66x69 67x68 68x59 69x69 70x56 71x44 72x43 73x36 74x40 75x26 76x24 77x19 78x23 79x13 80x11
81x14 82x5 83x10 84x8 85 86x3 87x4 88x2 89x3 90 91 96x2 97 98 100x2 103
`,
  },
  {
    name: "glue.cola",
    origin:
      "GLUE (Wang et al. 2018), CoLA, training examples: data/CoLA of amrnag/Specialized-Transformers fa673a93a5c2",
    licence: "tasks of their own terms; lengths only",
    examples: 8551,
    tokens: { mean: 11.33, p99: 25, max: 47 },
    counts: `
4x7 5x129 6x310 7x649 8x979 9x1154 10x1129 11x916 12x797 13x574 14x452 15x334 16x235 17x182
18x145 19x125 20x96 21x66 22x67 23x66 24x41 25x26 26x21 27x17 28x6 29x8 30x6 31 32x8 33 35
37 40 47
`,
  },
];
