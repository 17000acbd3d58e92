/** What parts of a model are called. */
import type { Cuts } from "./schedule.ts";

/** Characters of a node's name that a cell's has. */
const NODE_NAME_MAX = 30;

/** The model's name, the part's number, and the node that it begins with. */
export function partNames(name: string): Cuts["nameOf"] {
  let count = 0;
  return (nodes, from, to) => {
    const first = nodes.slice(from, to).find((node) => node !== undefined);
    const called = first ? `:${first.name.slice(0, NODE_NAME_MAX)}` : "";
    return `${name}/${count++}${called}`;
  };
}
