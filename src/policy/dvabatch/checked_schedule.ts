/**
 * What a schedule of a caller's own says, checked: batches of nobody would be formed for ever, and queries that do not
 * wait would run twice.
 */
import {
  listOf,
  oneOf,
  positiveInteger,
  withMethods,
} from "../../base/checked_options.ts";
import type { AdmitChoice, AdmitView, DvaSchedule } from "./schedule.ts";

const SCHEDULE = '"schedule" of policy "dvabatch"';

const checkMethods = withMethods("a DvaSchedule", ["admit", "split"]);
const checkOp = oneOf(
  ["new", "stretch", "wait"] satisfies AdmitChoice["op"][],
);
const checkGroups = listOf(listOf(() => {}));
const checkSizes = listOf(positiveInteger);

/**
 * @param given what the option `schedule` returned
 * @returns the same schedule, which throws a TypeError or RangeError where it says what cannot be done
 */
export function checkedSchedule(given: DvaSchedule): DvaSchedule {
  checkMethods("schedule()", given);
  return {
    admit(view) {
      const choice = given.admit(view);
      if (choice !== undefined) checkAdmit(choice, view);
      return choice;
    },
    split(size, stage) {
      const sizes = given.split(size, stage);
      checkSizes("split()", sizes);
      if (sizes.reduce((sum, each) => sum + each, 0) === size) return sizes;
      throw new RangeError(
        `${SCHEDULE} splits ${size} queries into [${sizes}]`,
      );
    },
  };
}

function checkAdmit(choice: AdmitChoice, view: AdmitView): void {
  checkOp("admit().op", choice?.op);
  if (choice.op === "wait") return;
  const isNew = choice.op === "new";
  const groups = isNew ? choice.groups : [choice.queries];
  checkGroups(isNew ? "admit().groups" : "admit().queries", groups);
  const waiting = new Set(view.waiting);
  for (const queries of groups) {
    if (queries.length === 0) {
      throw new RangeError(`${SCHEDULE} takes nobody with "${choice.op}"`);
    }
    for (const query of queries) {
      if (waiting.delete(query)) continue;
      throw new RangeError(
        `${SCHEDULE} takes a query that does not wait, or one twice`,
      );
    }
  }
  if (groups.length === 0) {
    throw new RangeError(`${SCHEDULE} takes nobody with "new"`);
  }
  const room = view.stretchable?.room ?? 0;
  if (!isNew && choice.queries.length > room) {
    throw new RangeError(
      `${SCHEDULE} stretches a batch by ${choice.queries.length} queries, ${room} is the most`,
    );
  }
}
