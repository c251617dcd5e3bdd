#pragma once
// Rotates new keys to their positions and appends them with their values to the lists of a layer. A
// list holds the stored rows (keys and values) of one KV head.

#include <span>
#include <vector>

#include "kv/kv_store.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// Rotates key row r to `position` + r and appends it with its value to the lists of the layer. If
/// the layer has several lists per KV head (KvStore::append()), the rows are appended to each of
/// them. If `added` has queries, they are rotated to the same positions. `rotated` is scratch
/// memory for the rotated keys.
void rope_append(Queue& queue, const Rotations& rotations, int64_t position, const NewRows& added,
                 KvStore& store, int layer, Array<float>& rotated);

/// AppendBatch collects the new rows of several sequences in one layer. A device then appends all
/// of them with one kernel launch.
class AppendBatch {
 public:
  AppendBatch();
  ~AppendBatch();
  AppendBatch(const AppendBatch&) = delete;
  AppendBatch& operator=(const AppendBatch&) = delete;

  /// Adds rows to every list of the layer. The lengths of the lists include them at once, but the
  /// rows are written by run(). Keys are rotated as by rope_append(), or stored raw if `rotations`
  /// is null or NewRows::raw_keys is set. Views and rotations must stay unchanged until run().
  /// Returns false and adds nothing if the device cannot append rows of several stores together, or
  /// if the earlier rows of the batch have another format.
  bool add(KvStore& store, int layer, const NewRows& added, const Rotations* rotations = nullptr,
           int64_t position = 0);
  size_t size() const;
  /// Removes all sequences except the first `size`.
  void shrink(size_t size);
  /// Writes all rows and clears the batch.
  void run(Queue& queue);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
