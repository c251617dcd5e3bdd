#include "engine/loop_detector.h"

#include <algorithm>

namespace longhaul {
namespace {

constexpr int64_t kLongestPeriod = 256;
constexpr int64_t kLeastTokens = 96;
constexpr int64_t kTimes = 4;

}  // namespace

bool LoopDetector::push(int32_t token) {
  equal_.resize(static_cast<size_t>(kLongestPeriod));
  const auto before = static_cast<int64_t>(tokens_.size());
  for (int64_t period = 1; period <= std::min(before, kLongestPeriod); ++period) {
    int64_t& equal = equal_[static_cast<size_t>(period - 1)];
    equal = tokens_[static_cast<size_t>(before - period)] == token ? equal + 1 : 0;
    if (period_ == 0 && equal + period >= std::max(kLeastTokens, kTimes * period)) {
      period_ = period;
    }
  }
  tokens_.push_back(token);
  return period_ > 0;
}

}  // namespace longhaul
