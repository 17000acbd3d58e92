import assert from "node:assert/strict";

/** Messages of a body of server-sent events: JSON, or [DONE]. */
export async function sseMessages(response: Response): Promise<unknown[]> {
  assert.equal(
    response.headers.get("content-type"),
    "text/event-stream; charset=utf-8",
  );
  const text = await response.text();
  assert(text.endsWith("\n\n"));
  return text.slice(0, -2).split("\n\n").map((event) => {
    assert(event.startsWith("data: "));
    const data = event.slice("data: ".length);
    return data === "[DONE]" ? data : JSON.parse(data);
  });
}
