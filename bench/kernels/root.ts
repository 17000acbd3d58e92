/** The checkout; the bundle for Node lies as deep below it as this file, so that both agree. */
export const ROOT = new URL("../../", import.meta.url);
