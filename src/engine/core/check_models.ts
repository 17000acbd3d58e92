/** Models, policies and executors as callers hand them to an engine. */
import { DTYPES } from "../../tensor/tensor.ts";
import {
  type Check,
  positiveInteger,
  withMethods,
} from "../../base/checked_options.ts";
import { describe } from "../../base/describe.ts";
import { refusePromise } from "../../base/refuse_promise.ts";
import type { Model } from "../../graph/model.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Executor } from "./executor.ts";

const EXECUTOR = withMethods(
  "an executor",
  [
    "admit",
    "grew",
    "push",
    "settle",
    "abandon",
    "result",
    "release",
  ] satisfies (keyof Executor)[],
);

/** @throws TypeError or RangeError unless it can execute tasks */
export const checkExecutor: Check = (name, executor) => {
  EXECUTOR(name, executor);
  positiveInteger(`${name}.workers`, (executor as Executor).workers);
};

/** What a policy may do without. */
const HOOKS = [
  "lookahead",
  "submitted",
  "completed",
  "finished",
  "ended",
] as const satisfies (keyof Policy)[];

/** @throws TypeError unless it is a policy, made by calling its function */
export function checkPolicy(policy: unknown): asserts policy is Policy {
  const given = (policy ?? {}) as Policy;
  const { supports, enqueue, schedule } = given;
  const functions = [supports, enqueue, schedule];
  if (!functions.every((member) => typeof member === "function")) {
    throw new TypeError(
      `"policy" is what a policy's function returns, such as cellular(), got ${
        describe(policy)
      }`,
    );
  }
  for (const hook of HOOKS) {
    if (["function", "undefined"].includes(typeof given[hook])) continue;
    throw new TypeError(
      `"${hook}" of policy "${given.name}" is a function, got ${
        describe(given[hook])
      }`,
    );
  }
}

/**
 * How many requests of a model a policy could start together on one worker; see Policy.
 * @throws RangeError or TypeError when it is no such number: none would ever be unfolded
 */
export function lookaheadOf(policy: Policy, model: Model): number {
  const most: unknown = policy.lookahead?.(model) ?? Infinity;
  refusePromise(most, "lookahead", "policy", policy.name);
  if (typeof most === "number" && most >= 1) return most;
  throw new RangeError(
    `"lookahead" of policy "${policy.name}" is 1 or more, got ${
      describe(most)
    } for model "${model.name}"`,
  );
}

/** @throws TypeError unless these are models, and at least one */
export function checkModels(models: unknown): asserts models is Model[] {
  if (!Array.isArray(models)) {
    throw new TypeError(
      `"models" are an array of models, got ${describe(models)}`,
    );
  }
  if (models.length === 0) {
    throw new RangeError(
      "An engine needs a model that has a cell, got none",
    );
  }
  for (let i = 0; i < models.length; i++) checkModel(models[i], `models[${i}]`);
}

function checkModel(model: unknown, where: string): void {
  const { name, cells, shape, outputs, rows, check, unfold, brings, grow } =
    (model ?? {}) as Model;
  const fail = (what: string, value: unknown): never => {
    throw new TypeError(`${where}: ${what}, got ${describe(value)}`);
  };
  if (typeof model !== "object" || model === null) {
    fail("a model is an object, such as lstm() returns", model);
  }
  if (typeof name !== "string") fail(`a model's "name" is a string`, name);
  const isCells = Array.isArray(cells) && cells.length > 0 &&
    cells.every((cell) => Array.isArray(cell?.operators));
  if (!isCells) {
    fail(`the "cells" of model "${name}" are what defineCell returns`, cells);
  }
  if (shape !== "chain" && shape !== "dag") {
    fail(`the "shape" of model "${name}" is "chain" or "dag"`, shape);
  }
  const isOutputs = outputs === undefined ||
    typeof outputs === "object" && outputs !== null &&
      Object.values(outputs).every((dtype) =>
        (DTYPES as readonly unknown[]).includes(dtype)
      );
  if (!isOutputs) {
    fail(
      `the "outputs" of model "${name}" are ${DTYPES.join(", ")} by name`,
      outputs,
    );
  }
  if (typeof check !== "function") {
    fail(`"check" of model "${name}" is a function`, check);
  }
  if (typeof unfold !== "function") {
    fail(`"unfold" of model "${name}" is a function`, unfold);
  }
  if (brings !== undefined && typeof brings !== "function") {
    fail(`"brings" of model "${name}" is a function`, brings);
  }
  if (brings !== undefined && grow !== undefined) {
    fail(`"brings" of model "${name}" is of requests that do not grow`, grow);
  }
  const isRows = rows === undefined ||
    typeof rows?.split === "function" && typeof rows.join === "function";
  if (!isRows) {
    fail(`"rows" of model "${name}" has the functions split and join`, rows);
  }
  if (grow !== undefined && typeof grow !== "function") {
    fail(`"grow" of model "${name}" is a function`, grow);
  }
}

/** @throws TypeError when it is no model, RangeError unless it is one of the engine's */
export function checkKnown(
  model: Model,
  engine: { knows(model: Model): boolean },
): void {
  if (engine.knows(model)) return;
  const name: unknown = (model as Model | undefined)?.name;
  if (typeof name !== "string") {
    throw new TypeError(
      `A request is to one of the engine's models, got ${describe(model)}`,
    );
  }
  throw new RangeError(`Model "${name}" is not one of this engine's models`);
}

/** @throws RangeError when the policy cannot batch the model, TypeError when it does not say yet */
export function checkSupported(model: Model, policy: Policy): void {
  const reason = policy.supports(model);
  refusePromise(reason, "supports", "policy", policy.name);
  if (reason === undefined) return;
  throw new RangeError(
    `Policy "${policy.name}" cannot batch model "${model.name}": ${reason}`,
  );
}
