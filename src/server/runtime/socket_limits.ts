/** What the connections of clients may take where the runtime leaves it to us. */

/** Bytes of a message: as much as an event of audio may have, in base64. */
export const MESSAGE_MAX = 2 ** 25;

/** Who was silent for so long is asked whether it is there, and given up after as long again. */
export const SILENT_MS = 30_000;

/** Bytes that a client may leave unread. */
export const UNREAD_MAX = 2 ** 20;
