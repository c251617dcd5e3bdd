#pragma once
// The GPU implementation of ops/core/best_logits.h.

#include <span>
#include <vector>

#include "ops/core/best_logits.h"
#include "ops/core/gpu/room.h"
#include "ops/core/logits.gpu.h"

namespace longhaul::cuda {

class BestLogits {
 public:
  explicit BestLogits(GpuQueue& queue)
      : queue_(queue),
        memory_(queue),
        changes_(queue),
        masks_(queue),
        bits_(queue),
        found_(queue) {}

  void run(View<float> logits, std::span<const LogitRules> rules, int k, std::span<BestLogit> best,
           std::span<LogitSums> sums);

 private:
  void upload_masks(std::span<const LogitRules> rules, int64_t n);
  void change(float* logits, int64_t n);

  GpuQueue& queue_;
  Room memory_, changes_, masks_, bits_, found_;
  std::vector<LogitChange> listed_;
  std::vector<int64_t> first_words_;
  std::vector<uint64_t> words_;
};

}  // namespace longhaul::cuda
