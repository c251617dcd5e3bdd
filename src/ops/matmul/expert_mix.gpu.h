#pragma once
// The experts of a feed-forward layer (mixture of experts) on a GPU. Up to some hundreds of rows
// are multiplied by the experts' stored matrices directly. The host then need not read which
// experts were chosen. If there are more rows, the experts are processed in ranges. The rows of a
// range are gathered and multiplied by matrices that are first converted to bf16. If the rows of a
// single expert are too few to use the whole GPU, the products of several experts share one launch.
// The host must then read the number of rows per expert, and waits for it once per layer.

#include <memory>

#include "ops/matmul/experts.gpu.h"
#include "ops/matmul/grouped_gemm.gpu.h"
#include "ops/matmul/products.gpu.h"

namespace longhaul::cuda {

class ExpertMix {
 public:
  explicit ExpertMix(GpuQueue& queue) : queue_(queue), products_(queue.own<Products>()) {}

  /// Implements DeviceOps::mix_experts().
  void run(const OwnInput& x, const float* logits, const DeviceExperts& experts, float* y,
           bool add);

  /// Returns whether `rows` rows are multiplied by the stored matrices directly.
  static bool reads_stored(int64_t rows, const DeviceExperts& experts);

 private:
  /// Experts [first, end), and their choices [row, row + rows) after sorting by expert.
  struct ExpertRange {
    int first, end;
    int64_t row, rows;
  };

  void sort(int64_t choices, int experts);
  void as_stored(const OwnInput& x, const DeviceExperts& experts, float* y, bool add);
  void expanded(const OwnInput& x, const DeviceExperts& experts, float* y, bool add);
  ExpertRange next_after(const ExpertRange& before, const DeviceExperts& experts) const;
  void run_some(const OwnInput& x, const DeviceExperts& experts, const ExpertRange& some);
  /// Returns the bf16 matrices of the experts `some`. They are the stored matrices, or are
  /// converted in slot `at` of expanded_.
  const uint16_t* expand(const DeviceExperts::Role& role, const DeviceExperts& experts,
                         const ExpertRange& some, size_t at);
  void list_products(const uint16_t* w, int64_t outputs, int64_t w_stride, const ExpertRange& some,
                     const uint16_t* x, int64_t cols, uint16_t* y);
  GroupedGemm* grouped();
  void multiply(int64_t outputs, int64_t cols, int64_t w_stride);
  void add_biases(const DeviceExperts::Role& role, const DeviceExperts& experts,
                  const ExpertRange& some, uint16_t* y);
  const ExpertChoice* chosen() const { return static_cast<const ExpertChoice*>(chosen_.data); }
  int64_t rows_of(int expert) const {
    return begins_[static_cast<size_t>(expert) + 1] - begins_[static_cast<size_t>(expert)];
  }

  GpuQueue& queue_;
  Products& products_;
  bool looked_for_grouped_ = false;
  /// Products of several experts in one launch. Null if none were needed yet, or if cuBLAS does not
  /// support them.
  std::unique_ptr<GroupedGemm> grouped_;
  Room chosen_{queue_};
  /// Memory for the result of sort_choices() (experts.gpu.h): the sorted choices, the position of
  /// each choice among them, and the beginning of each expert's choices.
  Room order_{queue_};
  int32_t *sorted_ = nullptr, *places_ = nullptr, *begins_there_ = nullptr;
  Room int8_{queue_}, expanded_{queue_}, gathered_{queue_}, gate_{queue_}, up_{queue_},
      results_{queue_};
  OwnInput inner_{queue_};
  std::vector<int32_t> begins_;
  std::vector<GroupedProduct> listed_;
};

}  // namespace longhaul::cuda
