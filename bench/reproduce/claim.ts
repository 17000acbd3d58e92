/** What a paper claims, what was found here, and how the two are judged. */

/** A quantitative statement of a paper, in our words. */
export interface Claim {
  /** "LB-17"; the letters are the paper's. */
  readonly id: string;
  /** Section, figure, table or equation. */
  readonly where: string;
  readonly says: string;
  /**
   * How far it can be held to: arithmetic or a worked example (exact), a property of a data set (data), an
   * input of the experiment (config), direction and rough size (shape), tied to the device (hardware).
   */
  readonly check: "exact" | "data" | "config" | "shape" | "hardware";
}

/** A published value beside ours. */
export type Compared =
  & { readonly name: string }
  & (
    | {
      /**
       * `equal`: the value itself or nothing. `gain`: a factor, 1 is no difference. `reduction`: a percentage, 0 is no
       * difference. `size`: a quantity, of which the ratio counts.
       */
      readonly as: "equal" | "gain" | "reduction" | "size";
      readonly published: number;
      readonly ours: number;
      readonly unit?: string;
    }
    | {
      /** A statement that has no figure, and whether it holds here. */
      readonly as: "holds";
      readonly published: string;
      readonly ours: boolean;
      /** What was seen. */
      readonly seen: string;
    }
  );

/** What an experiment found of a claim. */
export interface Finding {
  readonly claim: string;
  readonly compared: readonly Compared[];
  /** What else decides how it is to be read. */
  readonly note?: string;
  /** Why it is not reproduced, found by experiment; needed for that verdict. */
  readonly cause?: {
    readonly text: string;
    /** Where the experiment that says so stands: title of one of the outcome's charts or tables. */
    readonly shownBy: string;
  };
}

export const VERDICTS = [
  "to the digit",
  "same direction and size",
  "same direction",
  "not reproduced",
] as const;

export type Verdict = typeof VERDICTS[number];

/**
 * A claim is judged by its worst value.
 * "To the digit" is for what can be: exact, data and config. A gain has the published size when its logarithm
 * is within a factor of 2 of the published one's, a quantity when it is within a factor of 1.5; statements
 * without a figure have a direction only.
 */
export function verdictOf(claim: Claim, finding: Finding): Verdict {
  const isExact = claim.check === "exact" || claim.check === "data" ||
    claim.check === "config";
  const grades = finding.compared.map((compared) => grade(compared, isExact));
  return VERDICTS[Math.max(...grades)];
}

const [DIGIT, SIZE, DIRECTION, NOT] = [0, 1, 2, 3];

function grade(compared: Compared, isExact: boolean): number {
  switch (compared.as) {
    case "holds":
      return compared.ours ? (isExact ? DIGIT : DIRECTION) : NOT;
    case "equal":
      if (compared.ours !== compared.published) return NOT;
      return isExact ? DIGIT : SIZE;
    case "size":
      return gradeSize(compared, isExact);
    case "gain":
      return gradeGain(compared.published, compared.ours);
    case "reduction":
      return gradeGain(
        1 / (1 - compared.published / 100),
        1 / (1 - compared.ours / 100),
      );
  }
}

function gradeSize(
  { published, ours }: { published: number; ours: number },
  isExact: boolean,
): number {
  if (isExact && ours === published) return DIGIT;
  const ratio = ours / published;
  return ratio >= 1 / 1.5 && ratio <= 1.5 ? SIZE : NOT;
}

/** Half a percent is no difference. */
const NOTHING = Math.log(1.005);

function gradeGain(published: number, ours: number): number {
  const [theirs, mine] = [Math.log(published), Math.log(ours)];
  if (!(mine * Math.sign(theirs) > NOTHING)) return NOT;
  const ratio = mine / theirs;
  return ratio >= 0.5 && ratio <= 2 ? SIZE : DIRECTION;
}
