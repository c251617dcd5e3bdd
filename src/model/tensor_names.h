#pragma once
// What the two kinds of files call each matrix of a model.

#include <fmt/format.h>

#include <string>

#include "format/checkpoint.h"

namespace longhaul {

/// Names by role, without .weight / .bias; `{}` stands for the layer.
struct TensorNames {
  const char *embedding, *head, *final_norm;
  const char *attention_norm, *ffn_norm;
  const char *q, *k, *v, *qkv, *output;
  const char *q_norm, *k_norm;
  const char *gate, *up, *gate_up, *down;
};

const TensorNames &tensor_names(CheckpointFormat format);

inline std::string of_layer(const char *name, int layer) {
  return fmt::format(fmt::runtime(name), layer);
}

}  // namespace longhaul
