#include "attention/methods/minference/attention_share.h"

#include <cmath>

namespace longhaul {

void attention_shares(Queue& queue, View<const float> lse, View<const float> all, int64_t first,
                      std::span<double> shares) {
  const int64_t heads = static_cast<int64_t>(shares.size());
  LH_ASSERT(heads > 0 && lse.size() == all.size() && lse.size() % heads == 0);
  const int64_t rows = lse.size() / heads;
  LH_ASSERT(first >= 0 && first < rows);
  HostStage on(queue);
  const auto some = host(on(lse)), whole = host(on(all));
  for (int64_t h = 0; h < heads; ++h) {
    double sum = 0;
    for (int64_t r = first; r < rows; ++r) {
      const size_t at = static_cast<size_t>(r * heads + h);
      sum += std::exp(static_cast<double>(some[at]) - whole[at]);
    }
    shares[static_cast<size_t>(h)] = sum / static_cast<double>(rows - first);
  }
}

}  // namespace longhaul
