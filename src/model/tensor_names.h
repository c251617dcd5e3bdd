#pragma once
// What the two kinds of files call each matrix of a model. The norms of a layer differ between
// families: LayerNorms (families.h).

#include <fmt/format.h>

#include <string>

#include "format/checkpoint.h"

namespace longhaul {

/// Names by role, without .weight / .bias; `{}` stands for the layer, a second one for the expert.
struct TensorNames {
  const char *embedding, *head, *final_norm;
  const char *q, *k, *v, *qkv, *output;
  const char *q_norm, *k_norm, *sinks;
  const char *gate, *up, *gate_up, *down;
  const char *router;
  const char *expert_gate, *expert_up, *expert_down;     ///< each expert's own
  const char *experts_gate, *experts_up, *experts_down;  ///< of all experts, one after the other
};

const TensorNames &tensor_names(CheckpointFormat format);
/// With the names that a family alone has.
TensorNames tensor_names(CheckpointFormat format, const std::string &architecture);

inline std::string of_layer(const char *name, int layer) {
  return fmt::format(fmt::runtime(name), layer);
}
inline std::string of_expert(const char *name, int layer, int expert) {
  return fmt::format(fmt::runtime(name), layer, expert);
}

}  // namespace longhaul
