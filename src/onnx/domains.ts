/** Domain of the operators that ONNX Runtime adds to ONNX's own. */
export const CONTRIB_DOMAIN = "com.microsoft";

/** Of attention that was put together: rows of one head, of any axes in front. */
export const ATTENTION_DOMAIN = "shoal.attention";
