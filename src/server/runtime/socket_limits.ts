/** What the connections of clients may take where the runtime leaves it to us, and with what they are closed at the end. */

/** Bytes of a message: as much as an event of audio may have, in base64. */
export const MESSAGE_MAX = 2 ** 25;

/** Who was silent for so long is asked whether it is there, and given up after as long again. */
export const SILENT_MS = 30_000;

/** Bytes that a client may leave unread. */
export const UNREAD_MAX = 2 ** 20;

/** Status and reason of those that are closed because the server ends (RFC 6455, section 7.4.1). */
export const GOING_AWAY = 1001;
export const ENDING = "The server ends";
