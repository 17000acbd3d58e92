/**
 * Messages of the Open Inference Protocol's gRPC form and of Triton's extensions to it, as far as there is something to
 * tell (kserve/open-inference-protocol, specification/protocol/open_inference_grpc.proto; triton-inference-server/common,
 * protobuf/grpc_service.proto and model_config.proto, July 2026; grpc/grpc-proto, grpc/health/v1/health.proto).
 */
import {
  choice,
  type Enumeration,
  list,
  map,
  messageType,
  one,
} from "./descriptor.ts";

/** Of requests and responses that say nothing. */
export const EMPTY = messageType({});

export const SERVER_LIVE = messageType({ live: one(1, "bool") });

/** Of the server, and of a model. */
export const READY = messageType({ ready: one(1, "bool") });

/** A model's version: of requests that ask after one. */
export const NAMED = messageType({
  name: one(1, "string"),
  version: one(2, "string"),
});

export const SERVER_METADATA = messageType({
  name: one(1, "string"),
  version: one(2, "string"),
  extensions: list(3, "string"),
});

const TENSOR_METADATA = messageType({
  name: one(1, "string"),
  datatype: one(2, "string"),
  shape: list(3, "int64"),
});

export const MODEL_METADATA = messageType({
  name: one(1, "string"),
  versions: list(2, "string"),
  platform: one(3, "string"),
  inputs: list(4, TENSOR_METADATA),
  outputs: list(5, TENSOR_METADATA),
});

const INFER_PARAMETER = messageType({
  bool_param: choice(1, "bool"),
  int64_param: choice(2, "int64"),
  string_param: choice(3, "string"),
  double_param: choice(4, "double"),
  uint64_param: choice(5, "uint64"),
});

const TENSOR_CONTENTS = messageType({
  bool_contents: list(1, "bool"),
  int_contents: list(2, "int32"),
  int64_contents: list(3, "int64"),
  uint_contents: list(4, "uint32"),
  uint64_contents: list(5, "uint64"),
  fp32_contents: list(6, "float"),
  fp64_contents: list(7, "double"),
  bytes_contents: list(8, "bytes"),
});

/** An input as it is sent, and an output as it is answered. */
const INFER_TENSOR = messageType({
  name: one(1, "string"),
  datatype: one(2, "string"),
  shape: list(3, "int64"),
  parameters: map(4, INFER_PARAMETER),
  contents: one(5, TENSOR_CONTENTS),
});

const ASKED_OUTPUT = messageType({
  name: one(1, "string"),
  parameters: map(2, INFER_PARAMETER),
});

export const INFER_REQUEST = messageType({
  model_name: one(1, "string"),
  model_version: one(2, "string"),
  id: one(3, "string"),
  parameters: map(4, INFER_PARAMETER),
  inputs: list(5, INFER_TENSOR),
  outputs: list(6, ASKED_OUTPUT),
  raw_input_contents: list(7, "bytes"),
});

export const INFER_RESPONSE = messageType({
  model_name: one(1, "string"),
  model_version: one(2, "string"),
  id: one(3, "string"),
  parameters: map(4, INFER_PARAMETER),
  outputs: list(5, INFER_TENSOR),
  raw_output_contents: list(6, "bytes"),
});

export const STREAM_INFER_RESPONSE = messageType({
  error_message: one(1, "string"),
  infer_response: one(2, INFER_RESPONSE),
});

const DURATION = messageType({
  count: one(1, "uint64"),
  ns: one(2, "uint64"),
});

const INFER_STATISTICS = messageType({
  success: one(1, DURATION),
  fail: one(2, DURATION),
  queue: one(3, DURATION),
  compute_input: one(4, DURATION),
  compute_infer: one(5, DURATION),
  compute_output: one(6, DURATION),
  cache_hit: one(7, DURATION),
  cache_miss: one(8, DURATION),
});

const BATCH_STATISTICS = messageType({
  batch_size: one(1, "uint64"),
  compute_input: one(2, DURATION),
  compute_infer: one(3, DURATION),
  compute_output: one(4, DURATION),
});

export const MODEL_STATISTICS = messageType({
  model_stats: list(
    1,
    messageType({
      name: one(1, "string"),
      version: one(2, "string"),
      last_inference: one(3, "uint64"),
      inference_count: one(4, "uint64"),
      execution_count: one(5, "uint64"),
      inference_stats: one(6, INFER_STATISTICS),
      batch_stats: list(7, BATCH_STATISTICS),
    }),
  ),
});

export const REPOSITORY_INDEX_REQUEST = messageType({
  repository_name: one(1, "string"),
  ready: one(2, "bool"),
});

export const REPOSITORY_INDEX = messageType({
  models: list(
    1,
    messageType({
      name: one(1, "string"),
      version: one(2, "string"),
      state: one(3, "string"),
      reason: one(4, "string"),
    }),
  ),
});

/** Of loading and of unloading. */
export const REPOSITORY_MODEL = messageType({
  repository_name: one(1, "string"),
  model_name: one(2, "string"),
  parameters: map(
    3,
    messageType({
      bool_param: choice(1, "bool"),
      int64_param: choice(2, "int64"),
      string_param: choice(3, "string"),
      bytes_param: choice(4, "bytes"),
    }),
  ),
});

const DATA_TYPE: Enumeration = {
  values: {
    TYPE_BOOL: 1,
    TYPE_UINT8: 2,
    TYPE_UINT16: 3,
    TYPE_UINT32: 4,
    TYPE_UINT64: 5,
    TYPE_INT8: 6,
    TYPE_INT16: 7,
    TYPE_INT32: 8,
    TYPE_INT64: 9,
    TYPE_FP16: 10,
    TYPE_FP32: 11,
    TYPE_FP64: 12,
    TYPE_STRING: 13,
    TYPE_BF16: 14,
  },
};

const VERSION_POLICY = messageType({
  latest: choice(1, messageType({ num_versions: one(1, "uint32") })),
  all: choice(2, EMPTY),
  specific: choice(3, messageType({ versions: list(1, "int64") })),
});

const SEQUENCE_BATCHING = messageType({
  max_sequence_idle_microseconds: one(1, "uint64"),
  oldest: choice(
    4,
    messageType({ max_candidate_sequences: one(1, "int32") }),
  ),
});

export const MODEL_CONFIG = messageType({
  config: one(
    1,
    messageType({
      name: one(1, "string"),
      platform: one(2, "string"),
      version_policy: one(3, VERSION_POLICY),
      max_batch_size: one(4, "int32"),
      input: list(
        5,
        messageType({
          name: one(1, "string"),
          data_type: one(2, DATA_TYPE),
          dims: list(4, "int64"),
          optional: one(8, "bool"),
        }),
      ),
      output: list(
        6,
        messageType({
          name: one(1, "string"),
          data_type: one(2, DATA_TYPE),
          dims: list(3, "int64"),
        }),
      ),
      sequence_batching: choice(13, SEQUENCE_BATCHING),
      parameters: map(14, messageType({ string_value: one(1, "string") })),
      backend: one(17, "string"),
      // Whether a request may have several responses, as those of decoders have.
      model_transaction_policy: one(
        19,
        messageType({ decoupled: one(1, "bool") }),
      ),
    }),
  ),
});

export const HEALTH_REQUEST = messageType({ service: one(1, "string") });

export const HEALTH = messageType({
  status: one(1, { values: { SERVING: 1, NOT_SERVING: 2 } }),
});
