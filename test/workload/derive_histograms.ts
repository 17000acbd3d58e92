/**
 * Derives the embedded histograms of src/workload/corpora from the data sets they count. Run by hand:
 * `deno run -A test/workload/derive_histograms.ts DATA_FOLDER`, where DATA_FOLDER holds
 * `sentence-lengths/*.csv` (src_tokens,src_words,tgt_tokens,tgt_words), `glue-lengths/*.csv`
 * (words1,words2,bert_input_tokens) and `parse-trees/sst-train-shapes.txt` (one tree shape per line).
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { ascending, mean, percentile } from "../../src/base/statistics.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import type {
  Corpus,
  LengthFacts,
  TaskLengths,
} from "../../src/workload/corpus.ts";
import { Histogram, JointHistogram } from "../../src/workload/histogram.ts";
import { leafCount, parseTreeShape } from "./tree_shape.ts";

interface CorpusFile {
  readonly csv: string;
  readonly module: string;
  readonly meta: Pick<Corpus, "name" | "origin" | "licence" | "english">;
}

export const CORPUS_FILES: readonly CorpusFile[] = [
  {
    csv: "europarl-v7-sample.de-en.csv",
    module: "europarl_v7_de_en",
    meta: {
      name: "europarl-v7.de-en",
      origin:
        "Europarl v7 (Koehn 2005), German-English: the distinct pairs of the sample in " +
        "marian-nmt/marian-regression-tests 84844f7c1acf, cut at 80 tokens by its publisher",
      licence:
        "repository MIT; Europarl: no known copyright restriction; lengths only",
      english: "target",
    },
  },
  {
    csv: "wmt15-train-sample.en-de.csv",
    module: "wmt15_en_de",
    meta: {
      name: "wmt15.en-de",
      origin:
        "WMT 2015 training data, English-German (Europarl, Common Crawl, News Commentary): " +
        "the sample in OpenNMT/OpenNMT-py 97111d97551c, sentences up to 50 tokens",
      licence: "repository MIT; lengths only",
      english: "source",
    },
  },
  {
    csv: "multi30k.en-de.csv",
    module: "multi30k_en_de",
    meta: {
      name: "multi30k.en-de",
      origin:
        "Multi30k image captions, English-German, train and val: multi30k/dataset a3d2e0d26b56",
      licence: "dataset for research use; lengths only",
      english: "source",
    },
  },
  {
    csv: "wmt21-mt-output.en-de.Facebook-AI.csv",
    module: "wmt21_mt_en_de",
    meta: {
      name: "wmt21-mt.en-de",
      origin:
        "WMT 2021 news test and test suites, English, with the German output of one translation " +
        "system (Facebook-AI): wmt-conference/wmt21-news-systems f41750dadbf2",
      licence: "repository names none; lengths only",
      english: "source",
    },
  },
];

/** Training examples of GLUE tasks. */
export const TASK_FILES: readonly {
  readonly csv: string;
  readonly meta: Pick<TaskLengths, "name" | "origin" | "licence">;
}[] = [
  ["RTE", "data/RTE of amrnag/Specialized-Transformers fa673a93a5c2"],
  ["SST-2", "data/SST-2 of forest-snow/alps 3c7ef2c98249, train"],
  ["MRPC", "data/MRPC of Nstats/my_bert 733d79335044"],
  ["CoLA", "data/CoLA of amrnag/Specialized-Transformers fa673a93a5c2"],
].map(([task, from]) => ({
  csv: `${task}.train.csv`,
  meta: {
    name: `glue.${task.toLowerCase()}`,
    origin: `GLUE (Wang et al. 2018), ${task}, training examples: ${from}`,
    licence: "tasks of their own terms; lengths only",
  },
}));

/** Tokens that BERT is given for every example: word pieces, [CLS] and a [SEP] per sentence. */
export function readTaskTokens(dataFolder: string, csv: string): number[] {
  const lines = readFileSync(`${dataFolder}/glue-lengths/${csv}`, "utf8")
    .trim().split("\n");
  return lines.slice(1).map((line) => Number(line.split(",")[2]));
}

function tasksModule(dataFolder: string): string {
  const entries = TASK_FILES.map(({ csv, meta }) => {
    const tokens = readTaskTokens(dataFolder, csv);
    const counts = new Map<number, number>();
    for (const n of tokens) counts.set(n, (counts.get(n) ?? 0) + 1);
    const { mean, p99, max } = lengthFacts(tokens);
    return `  {
    name: ${JSON.stringify(meta.name)},
    origin:
      ${JSON.stringify(meta.origin)},
    licence: ${JSON.stringify(meta.licence)},
    examples: ${tokens.length},
    tokens: { mean: ${mean}, p99: ${p99}, max: ${max} },
    counts: \`
${Histogram.encode(counts).replace(/(.{90}\S*) /g, "$1\n")}
\`,
  },`;
  });
  return `import type { TaskLengths } from "../corpus.ts";

/**
 * Tokens that an uncased BERT is given for the examples of GLUE tasks: word pieces, [CLS] and a [SEP] per
 * sentence, with the vocabulary of Nstats/my_bert 397800c6c7b4. Counts only, no text. ${MADE}
 */
export const GLUE: readonly TaskLengths[] = [
${entries.join("\n")}
];
`;
}

/** (source, target) tokens of every pair. */
export function readPairs(dataFolder: string, csv: string): [number, number][] {
  const lines = readFileSync(`${dataFolder}/sentence-lengths/${csv}`, "utf8")
    .trim().split("\n");
  return lines.slice(1).map((line) => {
    const fields = line.split(",").map(Number);
    return [fields[0], fields[2]];
  });
}

export function readTrees(
  dataFolder: string,
  split: "train" | "dev",
): ParseTree[] {
  const text = readFileSync(
    `${dataFolder}/parse-trees/sst-${split}-shapes.txt`,
    "utf8",
  );
  return text.trim().split("\n").map((line) => parseTreeShape(line));
}

export function lengthFacts(lengths: number[]): LengthFacts {
  const sorted = ascending(lengths);
  return {
    mean: Number(mean(sorted).toFixed(2)),
    p99: percentile(sorted, 0.99),
    max: sorted.at(-1)!,
  };
}

/** Leaf counts of the trees, and (leaves, leaves on the left) of all their internal nodes. */
export function treeCounts(
  trees: ParseTree[],
): { leaves: string; splits: string } {
  const leaves = new Map<number, number>();
  const splits: [number, number][] = [];
  const visit = (tree: ParseTree): number => {
    if (typeof tree === "number") return 1;
    const [left, right] = tree.map(visit) as [number, number];
    splits.push([left + right, left]);
    return left + right;
  };
  for (const tree of trees) {
    const count = leafCount(tree);
    leaves.set(count, (leaves.get(count) ?? 0) + 1);
    visit(tree);
  }
  return {
    leaves: Histogram.encode(leaves),
    splits: JointHistogram.encode(splits),
  };
}

const MADE = "Made by test/workload/derive_histograms.ts; not edited by hand.";

function corpusModule(
  { module, meta }: CorpusFile,
  pairs: [number, number][],
): string {
  const facts = (side: 0 | 1) => {
    const { mean, p99, max } = lengthFacts(pairs.map((pair) => pair[side]));
    return `{ mean: ${mean}, p99: ${p99}, max: ${max} }`;
  };
  return `import type { Corpus } from "../corpus.ts";

/** ${MADE} */
export const ${module.toUpperCase()}: Corpus = {
  name: ${JSON.stringify(meta.name)},
  origin:
    ${JSON.stringify(meta.origin)},
  licence: ${JSON.stringify(meta.licence)},
  english: ${JSON.stringify(meta.english)},
  pairs: ${pairs.length},
  source: ${facts(0)},
  target: ${facts(1)},
  counts: \`
${JointHistogram.encode(pairs)}
\`,
};
`;
}

function treeModule(trees: ParseTree[]): string {
  const { leaves, splits } = treeCounts(trees);
  return `/**
 * Shapes of the ${trees.length} training trees of the Stanford Sentiment Treebank (Socher et al. 2013): counts only,
 * no words and no labels (the treebank states no licence for them). Read from munikarmanish/RNTN
 * 12bb731ba9fb. ${MADE}
 */
export const SST_SHAPES = {
  name: "sst",
  trees: ${trees.length},
  /** Text form of a Histogram over the leaves of a tree. */
  leaves: \`
${leaves.replace(/(.{90}\S*) /g, "$1\n")}
\`,
  /** Text form of a JointHistogram over (leaves below an internal node, leaves below its left child). */
  splits: \`
${splits}
\`,
} as const;
`;
}

function main(dataFolder: string | undefined): void {
  if (dataFolder === undefined) {
    throw new TypeError("Usage: derive_histograms.ts DATA_FOLDER");
  }
  const write = (module: string, text: string) =>
    writeFileSync(
      new URL(`../../src/workload/corpora/${module}.ts`, import.meta.url),
      text,
    );
  for (const file of CORPUS_FILES) {
    write(file.module, corpusModule(file, readPairs(dataFolder, file.csv)));
  }
  write("glue", tasksModule(dataFolder));
  write("sst_shapes", treeModule(readTrees(dataFolder, "train")));
}

if (import.meta.main) main(process.argv[2]);
