/** Figures of models as Triton's extension "statistics" has them. */
import type { EngineHost } from "../host/engine_host.ts";
import type { CountAndTime } from "../host/model_statistics.ts";
import type { ServedModel } from "../host/served_model.ts";

/**
 * Those of a name, of all names where none is given.
 * @throws NotFoundError
 */
export function statsOf(host: EngineHost, model?: string, version?: string) {
  if (model === undefined) return modelStats(host, host.models);
  host.find(model, version);
  return modelStats(
    host,
    host.models.filter((served) =>
      served.name === model && (version ?? served.version) === served.version
    ),
  );
}

/**
 * Deviation: a request is in many batches, of cells; `execution_count` and `batch_stats` count these. Reading and
 * writing tensors is not told apart from computing: `compute_input` and `compute_output` are 0.
 */
function modelStats(
  { statistics }: EngineHost,
  models: readonly ServedModel[],
) {
  return {
    model_stats: models.map((served) => {
      const figures = statistics.of(served);
      return {
        name: served.name,
        version: served.version,
        last_inference: figures.lastInferenceMs,
        inference_count: figures.inferences,
        execution_count: figures.executions,
        inference_stats: {
          success: plain(figures.success),
          fail: plain(figures.fail),
          queue: plain(figures.queue),
          compute_input: NONE,
          compute_infer: plain(figures.compute),
          compute_output: NONE,
          cache_hit: NONE,
          cache_miss: NONE,
        },
        batch_stats: [...figures.batches].sort(([a], [b]) => a - b).map(
          ([size, batches]) => ({
            batch_size: size,
            compute_input: NONE,
            compute_infer: plain(batches),
            compute_output: NONE,
          }),
        ),
      };
    }),
  };
}

const NONE: CountAndTime = { count: 0, ns: 0 };

function plain({ count, ns }: CountAndTime): CountAndTime {
  return { count, ns };
}
