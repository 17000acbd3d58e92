/**
 * The results that a classifier adds to a model; without classes there is none. Of a number of classes that
 * the compiler does not know there may be some.
 */
export type Classified<Classes extends number> = number extends Classes
  ? { readonly logits?: "f32" }
  : Classes extends 0 ? Record<never, never>
  : { readonly logits: "f32" };
