#pragma once
// The last query rows of a prompt, kept until the prompt has been read, and how much attention they
// paid to every key.

#include <vector>

#include "attention/method.h"

namespace longhaul {

class ObservedRows {
 public:
  ObservedRows(const ModelShape& shape, int64_t rows);

  /// What `rows` rows of a model of this shape take.
  static size_t bytes_for(const ModelShape& shape, int64_t rows);

  void clear();
  /// Takes the last rows of a step that has attended, with their softmax denominators `lse`
  /// [rows, heads]. Rows of earlier positions stay as far as there is room.
  void add(LayerStep& step, const float* lse);

  int64_t count(int layer) const { return at(layer).count; }

  /// For every list of the layer: the probability that its keys [0, length) got from the observed
  /// rows of the list's query heads, summed. The observed rows must be the list's last ones and
  /// nothing that they saw may have left it.
  std::vector<std::vector<float>> attention_paid(const KvStore& store, int layer) const;

 private:
  struct Layer {
    int64_t count = 0;
    int64_t end = 0;             ///< position after the last of them
    std::vector<float> queries;  ///< [count, heads, head_dim], rotated
    std::vector<float> lse;      ///< [count, heads]
  };
  void forget_from(Layer& layer, int64_t position) const;
  const Layer& at(int layer) const { return layers_[static_cast<size_t>(layer)]; }

  const ModelShape& shape_;
  int64_t most_;
  AttendCompute compute_ = AttendCompute::kBest;
  std::vector<Layer> layers_;
};

}  // namespace longhaul
