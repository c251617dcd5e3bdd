#pragma once
// A decoder's shape as data, read from either kind of metadata. Families differ in values, not in
// subclasses.

#include <cstdint>
#include <string>
#include <vector>

#include "attention/model_shape.h"
#include "model/rope_spec.h"

namespace longhaul {

class Checkpoint;

struct ModelConfig {
  std::string architecture;  ///< llama, qwen2, qwen3, phi3 (mistral is llama with a window)
  int layers = 0;
  int hidden = 0;
  int ffn = 0;
  int vocab = 0;
  int heads = 0;
  std::vector<int> kv_heads;  ///< per layer
  int head_dim = 0;
  float norm_eps = 1e-5f;
  int64_t trained_context = 0;
  std::vector<int64_t> window;  ///< per layer; 0: none
  RopeSpec rope;
  std::vector<std::string> rope_tensors;  ///< of the checkpoint, whose factors `rope` holds
  bool qkv_bias = false;                  ///< q, k and v have biases, which must be there
  bool own_head = false;          ///< the output matrix must be there: the embedding is not it
  bool interleaved_rope = false;  ///< Q and K rows pair (2t, 2t+1): GGUF's llama

  /// With the angles of a context of `length` tokens.
  ModelShape shape(int64_t length = 0) const;
};

/// Throws UserError naming the file and the key: unknown architecture, missing key, a value out of
/// range, a scaling or an activation that is not supported.
ModelConfig read_config(const Checkpoint& checkpoint);

// The two kinds of metadata.
ModelConfig read_gguf_config(const Checkpoint& checkpoint);
ModelConfig read_hf_config(const Checkpoint& checkpoint);

}  // namespace longhaul
