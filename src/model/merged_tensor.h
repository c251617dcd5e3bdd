#pragma once
// Merges adapters into the matrices of a model: W + scale * B * A.

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

/// A function that receives the bytes of a file in order, a few MiB per call.
using ByteSink = std::function<void(std::span<const std::byte>)>;
/// The number of changed matrices, by type before and type after.
using ChangedTypes = std::map<std::pair<DType, DType>, size_t>;

/// Rows of a stored matrix that an adapter changes or replaces.
struct AdaptedRows {
  TensorView rows;
  const LowRank* adapter;    ///< added to the rows; null: `replacement` is used
  TensorView replacement{};  ///< rows that replace `rows`
};

/// Returns all rows of a model that adapters change. If the output matrix and the embedding are the
/// same tensor, changes of the output matrix are not included, because it cannot change alone.
/// Throws UserError that names the checkpoint if an adapter replaces only one of these two
/// matrices.
std::vector<AdaptedRows> adapted_rows(const Checkpoint& checkpoint, const Model& model);

/// A tensor of the file to write.
struct MergedTensor {
  TensorView stored;
  DType type;                        ///< type in the written file
  std::vector<AdaptedRows> changes;  ///< parts of `stored`; empty: the tensor is copied unchanged

  /// Computes and writes the tensor. Throws UserError that names `file` if a merged weight is not a
  /// number or is too large for its type.
  void write(const std::string& file, const ByteSink& to) const;
};

/// Returns the elements of `all` whose rows are a part of the tensor.
std::vector<AdaptedRows> changes_of(const TensorView& stored, std::span<const AdaptedRows> all);

/// Writes `bytes` in pieces, so that progress can be shown.
void write_pieces(std::span<const std::byte> bytes, const ByteSink& to);

}  // namespace longhaul
