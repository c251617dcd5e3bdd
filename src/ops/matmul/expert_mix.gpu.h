#pragma once
// The feed-forward part of a mixture of experts on a GPU. Up to some hundreds of rows read the
// matrices of the experts that they chose as they are stored, by numbers that stay on the device.
// Of more rows those of some experts are gathered and meet their expanded matrices, in one launch
// where the products of an expert alone would leave the card idle. For that the host reads how many
// rows each expert has: one wait a layer.

#include <memory>

#include "ops/matmul/experts.gpu.h"
#include "ops/matmul/grouped_gemm.gpu.h"
#include "ops/matmul/products.gpu.h"

namespace longhaul::cuda {

class ExpertMix {
 public:
  /// `products` must outlive it.
  ExpertMix(GpuQueue& queue, Products& products) : queue_(queue), products_(products) {}

  /// As DeviceOps::mix_experts.
  void run(const OwnInput& x, const float* logits, const DeviceExperts& experts, float* y,
           bool add);

  /// Whether so many rows read stored matrices.
  static bool reads_stored(int64_t rows, const DeviceExperts& experts);

 private:
  /// Experts [first, end) and the sorted choices [row, row + rows), which are theirs.
  struct ExpertRange {
    int first, end;
    int64_t row, rows;
  };

  void sort(int64_t choices, int experts);
  void as_stored(const OwnInput& x, const DeviceExperts& experts, float* y, bool add);
  void expanded(const OwnInput& x, const DeviceExperts& experts, float* y, bool add);
  ExpertRange next_after(const ExpertRange& before, const DeviceExperts& experts) const;
  void run_some(const OwnInput& x, const DeviceExperts& experts, const ExpertRange& some);
  /// Matrices of `some` in bf16, as they are stored or expanded to number `at` of expanded_.
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
  std::unique_ptr<GroupedGemm> grouped_;  ///< null: not needed yet, or the library has none
  Room chosen_{queue_};
  Room order_{queue_};  ///< of the choices, where each is in it, and where those of experts begin
  int32_t *sorted_ = nullptr, *places_ = nullptr, *begins_there_ = nullptr;
  Room int8_{queue_}, expanded_{queue_}, gathered_{queue_}, gate_{queue_}, up_{queue_},
      results_{queue_};
  OwnInput inner_{queue_};
  std::vector<int32_t> begins_;
  std::vector<GroupedProduct> listed_;
};

}  // namespace longhaul::cuda
