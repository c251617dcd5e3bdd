#pragma once
// Matrices of a model with its adapters merged into them: W + scale * B * A.

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

/// Receives a file from its beginning to its end, a few MiB per call.
using ByteSink = std::function<void(std::span<const std::byte>)>;
/// Number of changed matrices by (type before, type after).
using ChangedTypes = std::map<std::pair<DType, DType>, size_t>;

/// Rows of a stored matrix that an adapter changes.
struct AdaptedRows {
  TensorView rows;
  const LowRank* adapter;    ///< added to the rows; null: `replacement` holds
  TensorView replacement{};  ///< rows that replace the stored rows
};

/// Returns all changed rows of a model. Changes of an output matrix that shares the embedding's
/// tensor are left out, because it cannot change alone. Throws UserError naming the checkpoint if
/// an adapter replaces one of the two.
std::vector<AdaptedRows> adapted_rows(const Checkpoint& checkpoint, const Model& model);

struct MergedTensor {
  TensorView stored;
  DType type;                        ///< type in the written file
  std::vector<AdaptedRows> changes;  ///< all within `stored`; empty: the tensor is copied unchanged

  /// Throws UserError naming `file` if merged weights are too large for their type or are not
  /// numbers.
  void write(const std::string& file, const ByteSink& to) const;
};

/// Returns the elements of `all` whose rows lie in the tensor.
std::vector<AdaptedRows> changes_of(const TensorView& stored, std::span<const AdaptedRows> all);

/// Writes `bytes` in pieces, so that progress can be shown.
void write_pieces(std::span<const std::byte> bytes, const ByteSink& to);

}  // namespace longhaul
