/** Paths that bring texts, and are there twice: as the protocol has them, and behind `/models/{model}`, where the path says which. */
import type { Route } from "../http/route.ts";

/**
 * @param path of the protocol
 * @param asHttpError what its clients are to be told of an error; whatever else it is, it is returned
 */
export function modelRoutes(
  method: Route["method"],
  path: string,
  handle: Route["handle"],
  asHttpError: (error: unknown) => unknown,
): Route[] {
  return [path, `/models/{model}${path === "/" ? "" : path}`].map((path) => ({
    method,
    path,
    scope: "infer",
    handle: async (context) => {
      context.body.holdsTexts();
      try {
        return await handle(context);
      } catch (error) {
        throw asHttpError(error);
      }
    },
  }));
}
