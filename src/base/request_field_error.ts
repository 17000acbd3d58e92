/** A field of a request that cannot be, named so that protocols, which call it otherwise, can name it, too. */
export class RequestFieldError extends RangeError {
  /**
   * @param field as programs call it
   * @param problem what of the message follows its name
   */
  constructor(readonly field: string, readonly problem: string) {
    super(`"${field}" ${problem}`);
  }
}
