/**
 * Loaded before the tests of a mutant: properties draw the same cases in every run, so that a mutant which
 * was killed once is killed again, and a case that fails is not made smaller, which nobody would read.
 */
import fc from "fast-check";

fc.configureGlobal({ seed: 1, endOnFailure: true });
