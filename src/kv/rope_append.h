#pragma once
// Appends new keys and values to a layer's lists and rotates keys to their positions.

#include <span>
#include <vector>

#include "kv/kv_store.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// Rotates key row r to position + r and appends it with its value to every list of the layer.
/// There is one list per KV head, or a multiple, in which case each KV head writes to as many
/// neighbouring lists. The rows' queries, if any, are rotated too. `rotated` is memory for keys
/// that are rotated before they are appended.
void rope_append(Queue& queue, const Rotations& rotations, int64_t position, const NewRows& added,
                 KvStore& store, int layer, Array<float>& rotated);

/// New rows of several sequences in one layer, which a device appends in one launch.
class AppendBatch {
 public:
  AppendBatch();
  ~AppendBatch();
  AppendBatch(const AppendBatch&) = delete;
  AppendBatch& operator=(const AppendBatch&) = delete;

  /// Adds rows to every list of the layer, whose lengths count them at once. Keys are rotated as in
  /// rope_append(), or stored raw without `rotations`. Views and rotations must stay unchanged
  /// until run(). Returns false, without changes, if the store's device does not append the rows of
  /// several stores together, or stores the earlier ones in another way.
  bool add(KvStore& store, int layer, const NewRows& added, const Rotations* rotations = nullptr,
           int64_t position = 0);
  size_t size() const;
  /// Removes the rows after the first `size` sequences.
  void shrink(size_t size);
  /// Writes all rows and clears the batch.
  void run(Queue& queue);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
