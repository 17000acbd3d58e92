/** A parse tree: a number is the token id of a leaf, an array an internal node with its children. */
export type ParseTree = number | readonly ParseTree[];
