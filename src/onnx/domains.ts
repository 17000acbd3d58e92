/** Domain of the operators that ONNX Runtime adds to ONNX's own. */
export const CONTRIB_DOMAIN = "com.microsoft";
