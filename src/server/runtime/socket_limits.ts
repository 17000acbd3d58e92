/** What WebSockets may take where the runtime leaves it to us. */

/** Bytes of a message: as much as an event of audio may have, in base64. */
export const MESSAGE_MAX = 2 ** 25;

/** Bytes that a client may leave unread. */
export const UNREAD_MAX = 2 ** 20;
