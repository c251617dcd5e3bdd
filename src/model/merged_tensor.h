#pragma once
// Merges LoRA adapters into the matrices of a model: W becomes W + scale * B * A.

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

/// A function that receives the contents of a file in order, a few MiB per call.
using ByteSink = std::function<void(std::span<const std::byte>)>;
/// The number of changed matrices, by their types before and after the merge.
using ChangedTypes = std::map<std::pair<DType, DType>, size_t>;

/// A range of rows of a stored matrix that an adapter changes or replaces.
struct AdaptedRows {
  TensorView rows;
  const LowRank* adapter;    ///< merged into `rows`; null: `rows` are replaced
  TensorView replacement{};  ///< the new rows if `adapter` is null
};

/// Returns all row ranges of a model that adapters change. If the matrix of the logits is the same
/// tensor as the embedding, an adapter of it is omitted, because the embedding would change as
/// well. Throws a UserError that names the checkpoint if an adapter replaces only one of these two
/// matrices, or replaces biases.
std::vector<AdaptedRows> adapted_rows(const Checkpoint& checkpoint, const Model& model);

/// A tensor of the file that is written.
struct MergedTensor {
  TensorView stored;
  DType type;  ///< type in the written file
  /// Changed rows of `stored`; empty: the tensor is copied unchanged.
  std::vector<AdaptedRows> changes;

  /// Merges and writes the tensor. Throws a UserError that names `file` if a merged weight is NaN
  /// or too large for its type.
  void write(const std::string& file, const ByteSink& to) const;
};

/// Returns the elements of `all` whose rows belong to the tensor.
std::vector<AdaptedRows> changes_of(const TensorView& stored, std::span<const AdaptedRows> all);

/// Writes `bytes` in pieces, so that the receiver can show progress.
void write_pieces(std::span<const std::byte> bytes, const ByteSink& to);

}  // namespace longhaul
