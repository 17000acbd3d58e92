/**
 * Words of the sentences of two corpora, which is what LazyBatching's Fig. 11 counts: the histograms of
 * `src/workload` count tokens, punctuation marks among them. Words are tokens with a letter or a digit; sentences
 * without one are left out. Compared with the data by test/bench/reproduce/lazybatching_test.ts.
 */

/** Histograms of both sides of sentence pairs, in the text form of `Histogram`. */
export interface WordLengths {
  readonly origin: string;
  /** File of the data set that it was counted from. */
  readonly csv: string;
  readonly english: string;
  readonly german: string;
}

/** By the name of the corpus in `src/workload`. */
export const WORD_LENGTHS: Readonly<Record<string, WordLengths>> = {
  "wmt15.en-de": {
    origin:
      "WMT 2015 training data (Europarl, Common Crawl, News Commentary): the sample in OpenNMT/OpenNMT-py " +
      "97111d97551c, sentences up to 50 tokens",
    csv: "wmt15-train-sample.en-de.csv",
    english: `
1x15 2x13 3x24 4x67 5x61 6x163 7x237 8x267 9x342 10x362 11x372 12x382 13x384 14x415 15x421 16x418
17x415 18x417 19x430 20x391 21x336 22x334 23x362 24x313 25x308 26x279 27x270 28x245 29x208 30x169
31x188 32x157 33x152 34x139 35x109 36x126 37x123 38x107 39x86 40x74 41x72 42x61 43x53 44x55 45x25
46x18 47x10 48
`,
    german: `
1x18 2x26 3x25 4x77 5x80 6x216 7x296 8x353 9x365 10x399 11x423 12x430 13x418 14x492 15x467 16x402
17x425 18x419 19x423 20x412 21x354 22x356 23x328 24x293 25x262 26x240 27x212 28x224 29x184 30x169
31x174 32x145 33x142 34x98 35x105 36x103 37x91 38x81 39x61 40x58 41x50 42x33 43x24 44x19 45x7 46x4
47x2 48
`,
  },
  "wmt21-mt.en-de": {
    origin:
      "WMT 2021 news test and test suites, with the German output of one translation system (Facebook-AI): " +
      "wmt-conference/wmt21-news-systems f41750dadbf2",
    csv: "wmt21-mt-output.en-de.Facebook-AI.csv",
    english: `
1x7 2x75 3x471 4x869 5x956 6x938 7x912 8x754 9x561 10x421 11x456 12x471 13x408 14x478 15x413 16x463
17x444 18x435 19x434 20x413 21x444 22x385 23x341 24x332 25x317 26x298 27x269 28x242 29x242 30x216
31x194 32x182 33x153 34x138 35x134 36x109 37x101 38x96 39x76 40x67 41x47 42x42 43x29 44x15 45x14
46x9 47x11 48x6 49x5 50x9 51x5 52x5 54x6 55x2 57 58x3 60x2 62 65x2 66 68 69 72 73 75 81 90 116
`,
    german: `
1x7 2x75 3x645 4x906 5x958 6x1197 7x750 8x503 9x456 10x467 11x442 12x455 13x442 14x446 15x447 16x444
17x407 18x461 19x454 20x403 21x405 22x389 23x358 24x329 25x346 26x302 27x280 28x245 29x230 30x214
31x194 32x169 33x140 34x158 35x158 36x122 37x103 38x81 39x63 40x56 41x55 42x33 43x23 44x20 45x18
46x13 47x9 48x10 49x7 50x3 51x5 52x4 53x6 54x3 55x3 56x2 57x2 58 59 61x2 62 64 65 66 69 73 77 79x2
92 115
`,
  },
};
