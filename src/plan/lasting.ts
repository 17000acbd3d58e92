/**
 * Targets that requests come for, at least, to say which rate is carried. What is still to be done when the last has
 * come is in time as well, so that a machine seems to carry more by as much as the target is of the time: a twentieth
 * at most.
 */
export const TARGETS_LEAST = 20;
