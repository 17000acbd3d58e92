/** Mutants of what commands have in common. */
import type { MutantList } from "../mutant.ts";

const FILES = "test/cli/files_test.ts";

export const MUTANTS: MutantList = [
  {
    id: "commands.in-place",
    file: "src/cli/replace_file.ts",
    from: "if (place === undefined) return false;",
    to: 'if (place !== "") return false;',
    tests: [FILES],
    why: "a full disk leaves what was there",
  },
  {
    id: "commands.open-files",
    file: "src/cli/replace_file.ts",
    from: "const OPEN_FILES = /^\\/(dev|proc)\\//;",
    to: "const OPEN_FILES = /^$/;",
    tests: [FILES],
    why: "a stream that leads to a file is written, not replaced",
  },
  {
    id: "commands.links",
    file: "src/cli/replace_file.ts",
    from: "    if (!isLink) return place;\n",
    to: "    return place;\n",
    tests: [FILES],
    why: "a link to a file stays one",
  },
  {
    id: "commands.permissions",
    file: "src/cli/replace_file.ts",
    from: "    if (old !== undefined) beLike(old, beside);\n",
    to: "",
    tests: [FILES],
    why: "a file that is replaced keeps its permissions",
  },
  {
    id: "commands.beside",
    file: "src/cli/replace_file.ts",
    from: "    unlinkSync(beside);\n",
    to: "",
    tests: [FILES],
    why: "what could not be written leaves nothing behind",
  },
  {
    id: "commands.folders-place",
    file: "src/cli/replace_file.ts",
    from: "join(realpathSync(dirname(place)), basename(place))",
    to: "join(dirname(place), basename(place))",
    tests: [FILES],
    why: "what comes after a folder's link is where the link leads",
  },
  {
    id: "commands.not-allowed",
    file: "src/cli/replace_file.ts",
    from: '(error as Error).name === "NotCapable"',
    to: "false",
    tests: [FILES],
    why: "who may write one file only can write it",
  },
  {
    id: "commands.stream-place",
    file: "src/cli/replace_file.ts",
    from: "isFile ? stream : path",
    to: "path",
    tests: [FILES],
    why: "a stream that leads to a file keeps what was printed before",
  },
  {
    id: "commands.no-null",
    file: "src/cli/run.ts",
    from: "${jsonNumbers(data)}",
    to: "${JSON.stringify(Array.from(data, Number)).slice(1, -1)}",
    tests: ["test/cli/run_numbers_test.ts"],
    why: "a NaN is not printed as if it were missing",
  },
  {
    id: "commands.apart",
    file: "src/cli/files.ts",
    from: "fileOf(other) !== there",
    to: "other !== path",
    tests: [FILES],
    why: "a file is the same under another name",
  },
];
