#pragma once
// The feed-forward part of a mixture of experts on a GPU. Few rows read the matrices of the experts
// that they chose, whose numbers stay on the device; of many rows those of an expert are gathered
// and meet its expanded matrices, for which the host reads how many each has: one wait a layer.

#include "ops/cuda/experts.h"
#include "ops/cuda/products.h"

namespace longhaul::cuda {

class ExpertMix {
 public:
  /// `products` must outlive it.
  ExpertMix(GpuQueue& queue, Products& products) : queue_(queue), products_(products) {}

  /// As DeviceOps::mix_experts.
  void run(const OwnInput& x, const float* logits, const DeviceExperts& experts, float* y,
           bool add);

 private:
  void few(const OwnInput& x, const DeviceExperts& experts, float* y, bool add);
  void many(const OwnInput& x, const DeviceExperts& experts, float* y, bool add);
  void one_of_many(const OwnInput& x, const DeviceExperts& experts, int expert,
                   const int32_t* order, int64_t count, float* y);
  const ExpertChoice* chosen() const { return static_cast<const ExpertChoice*>(chosen_.data); }

  GpuQueue& queue_;
  Products& products_;
  Room chosen_{queue_}, order_{queue_}, gathered_{queue_}, gate_{queue_}, up_{queue_},
      results_{queue_};
  OwnInput inner_{queue_};
  std::vector<int32_t> begins_;
};

}  // namespace longhaul::cuda
