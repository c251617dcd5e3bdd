// The GPU's operations of this folder.

#include "ops/ssm/ssm.gpu.h"

#include <algorithm>
#include <vector>

#include "ops/core/gpu/operations.gpu.h"
#include "ops/core/gpu/room.h"
#include "ops/ssm/short_convolution.h"
#include "ops/ssm/ssm_mix.h"

namespace longhaul::cuda {
namespace {

/// Divides tasks into launches. A task that continues an earlier one, or writes a state that an
/// earlier one reads or writes, belongs to a later launch.
class TaskLaunches {
 public:
  template <class Run>
  void run(std::span<const RecurrentTask> tasks, Run&& launch) {
    together_.clear();
    for (const RecurrentTask& task : tasks) {
      const float* const before = task.before.address();
      float* const after = task.after.address();
      const bool depends = std::ranges::any_of(together_, [&](const RecurrentRows& each) {
        return each.after == before || each.after == after || each.before == after;
      });
      if (depends) {
        launch(std::span<const RecurrentRows>(together_));
        together_.clear();
      }
      together_.push_back({task.first, task.rows, before, after});
    }
    if (!together_.empty()) launch(std::span<const RecurrentRows>(together_));
  }

 private:
  std::vector<RecurrentRows> together_;
};

const float* address_or_null(View<const float> numbers) {
  return numbers.empty() ? nullptr : numbers.address();
}

class SsmKernels {
 public:
  explicit SsmKernels(GpuQueue& queue) : queue_(queue), convolved_(queue), rounded_(queue) {}

  /// Returns false if the kernels do not support the sizes or the alignment.
  bool mix(const SsmShape& shape, const SsmInputs& in, std::span<const RecurrentTask> tasks,
           View<float> out) {
    if (!can_mix(shape, tasks)) return false;
    const SsmSizes sizes = SsmSizes::of(shape);
    const SsmAddresses at = {.projected = in.projected.address(),
                             .stride = in.stride,
                             .steps = in.steps.address(),
                             .step_stride = in.step_stride,
                             .convolution = in.convolution.address(),
                             .convolution_bias = address_or_null(in.convolution_bias),
                             .dt_bias = in.dt_bias.address(),
                             .rate = in.rate.address(),
                             .skip = in.skip.address(),
                             .norm = address_or_null(in.norm),
                             .eps = in.eps,
                             .out = out.address()};
    int64_t begin = tasks.front().first, end = 0;
    for (const RecurrentTask& task : tasks) {
      begin = std::min(begin, task.first);
      end = std::max(end, task.first + task.rows);
    }
    auto* const convolved = room_for_rows<float>(convolved_, sizes, end);
    auto* const rounded = room_for_rows<uint16_t>(rounded_, sizes, end);
    const bool has_chunks = has_ssm_chunks(sizes);
    launches_.run(tasks, [&](std::span<const RecurrentRows> together) {
      few_.clear();
      many_.clear();
      for (const RecurrentRows& task : together) {
        const bool chunks = has_chunks && task.rows >= kLeastChunkedRows;
        (chunks ? many_ : few_).push_back(task);
      }
      if (!few_.empty()) {
        ssm_convolve(queue_.handle(), sizes, at, few_, convolved);
        ssm_scan(queue_.handle(), sizes, at, few_, convolved);
      }
      if (!many_.empty()) {
        ssm_convolve(queue_.handle(), sizes, at, many_, rounded);
        ssm_chunks(queue_.handle(), sizes, at, many_, rounded);
      }
    });
    // Rows between the tasks belong to sequences that have failed; nothing reads them.
    ssm_gate(queue_.handle(), sizes, at, begin, end - begin);
    return true;
  }

 private:
  static bool can_mix(const SsmShape& shape, std::span<const RecurrentTask> tasks) {
    if (shape.state > kMostSsmState || shape.state % 4 != 0 || shape.head_dim % 8 != 0) {
      return false;
    }
    return std::ranges::all_of(tasks, [](const RecurrentTask& task) {
      const auto bits = reinterpret_cast<uintptr_t>(task.before.address()) |
                        reinterpret_cast<uintptr_t>(task.after.address());
      return bits % 16 == 0;
    });
  }

  template <class T>
  static T* room_for_rows(Room& room, const SsmSizes& sizes, int64_t rows) {
    room.at_least(static_cast<size_t>(rows * sizes.channels) * sizeof(T));
    return static_cast<T*>(room.data);
  }

  GpuQueue& queue_;
  Room convolved_, rounded_;  ///< convolved rows in f32 and in bf16
  std::vector<RecurrentRows> few_, many_;
  TaskLaunches launches_;
};

}  // namespace

void implement_ssm(GpuQueue& queue) {
  queue.implement(kSsmMix, [](GpuQueue& on, const SsmShape& shape, const SsmInputs& in,
                              std::span<const RecurrentTask> tasks, View<float> out) {
    return on.own<SsmKernels>().mix(shape, in, tasks, out);
  });
  queue.implement(kGatedConvolution, [](GpuQueue& on, const GatedConvolutionShape& shape,
                                        View<const float> in, View<const float> weight,
                                        std::span<const RecurrentTask> tasks, View<float> out) {
    on.own<TaskLaunches>().run(tasks, [&](std::span<const RecurrentRows> some) {
      gated_convolution(on.handle(), shape, in.address(), weight.address(), some, out.address());
    });
  });
}

}  // namespace longhaul::cuda
