// The GPU's operations of this folder.

#include "ops/delta/delta.gpu.h"

#include <algorithm>
#include <vector>

#include "ops/core/gpu/operations.gpu.h"
#include "ops/core/gpu/room.h"
#include "ops/delta/delta_mix.h"
#include "ops/delta/sigmoid_gates.h"

namespace longhaul::cuda {
namespace {

DeltaAddresses addresses_of(const DeltaInputs& in, View<float> out) {
  return {in.qkv.address(),   in.gates.address(),       in.beta.address(),
          in.alpha.address(), in.convolution.address(), in.dt_bias.address(),
          in.rate.address(),  in.norm.address(),        in.eps,
          out.address()};
}

class DeltaKernels {
 public:
  explicit DeltaKernels(GpuQueue& queue) : queue_(queue), room_(queue) {}

  void mix(const DeltaShape& shape, const DeltaInputs& in, std::span<const DeltaTask> tasks,
           View<float> out) {
    const DeltaSizes sizes = DeltaSizes::of(shape);
    const DeltaAddresses at = addresses_of(in, out);
    bool first = true;  // nothing of this call has written a state
    steps_.clear();
    for (const DeltaTask& task : tasks) {
      const float* const before = task.before.address();
      float* const after = task.after.address();
      const bool depends = std::ranges::any_of(steps_, [&](const DeltaStep& each) {
        return each.after == before || each.after == after || each.before == after;
      });
      if (sizes.fast() && task.rows == 1 && before != after) {
        if (depends) run_steps(sizes, at, first);
        steps_.push_back({task.first, before, after});
        continue;
      }
      run_steps(sizes, at, first);
      run_rows(sizes, at.from(sizes, task.first), task.rows, before, after);
      first = false;
    }
    run_steps(sizes, at, first);
  }

 private:
  /// Computes the collected single rows.
  void run_steps(const DeltaSizes& sizes, const DeltaAddresses& at, bool& first) {
    if (steps_.empty()) return;
    delta_steps(queue_.handle(), sizes, at, steps_, first);
    steps_.clear();
    first = false;
  }

  void run_rows(const DeltaSizes& s, const DeltaAddresses& all, int64_t rows, const float* before,
                float* after) {
    const cudaStream_t stream = queue_.handle();
    const float* state = before + s.history;  // state after the rows so far
    for (int64_t first = 0; first < rows; first += kDeltaSegment) {
      const int64_t count = std::min(kDeltaSegment, rows - first);
      const DeltaAddresses at = all.from(s, first);
      // The rows before a later segment lie before it.
      const float* const history = first == 0 ? before : at.qkv - s.history;
      if (s.fast()) {
        run_chunks(s, at, history, count, state, after + s.history);
      } else {
        run_one_by_one(s, at, history, count, state, after + s.history);
      }
      state = after + s.history;
    }
    delta_keep_history(stream, s, all.qkv, rows, before, after);
    delta_norm(stream, s, all, rows);
  }

  void run_chunks(const DeltaSizes& s, const DeltaAddresses& at, const float* history, int64_t rows,
                  const float* before, float* after) {
    const cudaStream_t stream = queue_.handle();
    room_.at_least(bytes(s, rows));
    const DeltaRoom room = DeltaRoom::in(room_.data, s, rows);
    delta_convolve(stream, s, at, history, rows, room.rows);
    delta_chunks(stream, s, at, rows, room);
    delta_scan(stream, s, room, rows, before, after, at.out);
  }

  void run_one_by_one(const DeltaSizes& s, const DeltaAddresses& at, const float* history,
                      int64_t rows, const float* before, float* after) {
    const cudaStream_t stream = queue_.handle();
    room_.at_least(bytes(s, rows));
    auto* const convolved = static_cast<float*>(room_.data);
    const auto numbers = static_cast<size_t>(s.values) * static_cast<size_t>(s.key_dim);
    delta_convolve(stream, s, at, history, rows, convolved);
    if (before != after) queue_.copy(before, after, numbers * sizeof(float));
    delta_rows(stream, s, at, convolved, rows, after);
  }

  static size_t bytes(const DeltaSizes& s, int64_t rows) {
    const DeltaShape shape = {s.key_heads, s.value_heads, s.key_dim, s.value_dim, s.taps, s.tiled};
    return delta_device_bytes(shape, rows);
  }

  GpuQueue& queue_;
  Room room_;
  std::vector<DeltaStep> steps_;
};

}  // namespace

void implement_delta(GpuQueue& queue) {
  queue.implement(kDeltaMix, [](GpuQueue& on, const DeltaShape& shape, const DeltaInputs& in,
                                std::span<const DeltaTask> tasks, View<float> out) {
    on.own<DeltaKernels>().mix(shape, in, tasks, out);
  });
  queue.implement(kMultiplyBySigmoid, [](GpuQueue& on, View<float> x, View<const float> gate) {
    multiply_by_sigmoid(on.handle(), x.address(), gate.address(), x.size());
  });
  queue.implement(kAddGated,
                  [](GpuQueue& on, View<float> y, View<const float> x, View<const float> gate) {
                    add_gated(on.handle(), y.address(), x.address(), gate.address(), gate.size(),
                              x.size() / gate.size());
                  });
}

}  // namespace longhaul::cuda
