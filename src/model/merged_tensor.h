#pragma once
// Matrices of a model as they are once its adapters are folded into them: W + scale B A.

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor_view.h"
#include "model/model.h"

namespace longhaul {

/// Takes a file from its beginning to its end, a few MiB at a time.
using ByteSink = std::function<void(std::span<const std::byte>)>;
/// How many matrices change, by the type that they had and the one that they get.
using ChangedTypes = std::map<std::pair<DType, DType>, size_t>;

/// Rows of a stored matrix and what an adapter makes of them.
struct AdaptedRows {
  TensorView rows;
  const LowRank* adapter;    ///< beside them; null: it replaces them
  TensorView replacement{};  ///< the rows in their place
};

/// All of a model, but for an output matrix that is the embedding: that one cannot change alone.
/// Throws UserError naming the checkpoint where an adapter replaces one of the two.
std::vector<AdaptedRows> adapted_rows(const Checkpoint& checkpoint, const Model& model);

struct MergedTensor {
  TensorView stored;
  DType type;                        ///< that it is written in
  std::vector<AdaptedRows> changes;  ///< all within `stored`; none: it stays as it is

  /// Throws UserError naming `file` for weights that the adapter makes too large for their type,
  /// or no numbers.
  void write(const std::string& file, const ByteSink& to) const;
};

/// Those of `all` that lie in the tensor.
std::vector<AdaptedRows> changes_of(const TensorView& stored, std::span<const AdaptedRows> all);

/// In pieces: what is written can be shown while it is.
void write_pieces(std::span<const std::byte> bytes, const ByteSink& to);

}  // namespace longhaul
