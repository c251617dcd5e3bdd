#include "attention/methods/duo/gated_heads.h"

#include <algorithm>
#include <cmath>

#include "attention/parts/head_files.h"
#include "text/number_lines.h"

namespace longhaul {

HeadGates read_gates(const std::filesystem::path& file, std::span<const int> kv_heads) {
  HeadGates gates = with_option("duo", "gates", [&] {
    return read_number_lines(
        file, kv_heads, {"gate; a gate file has a row of numbers per layer", "layer", "KV heads"});
  });
  for (auto& layer : gates) {
    for (double& gate : layer) gate = std::clamp(gate, 0.0, 1.0);
  }
  return gates;
}

FullHeads full_by_sparsity(const HeadGates& gates, double sparsity) {
  struct GatedHead {
    double gate;
    size_t layer, head;
  };
  std::vector<GatedHead> heads;
  FullHeads full;
  for (size_t layer = 0; layer < gates.size(); ++layer) {
    full.emplace_back(gates[layer].size(), uint8_t{0});
    for (size_t head = 0; head < gates[layer].size(); ++head) {
      heads.push_back({gates[layer][head], layer, head});
    }
  }
  std::stable_sort(heads.begin(), heads.end(),
                   [](const GatedHead& a, const GatedHead& b) { return a.gate > b.gate; });
  size_t count = heads.size();
  if (sparsity >= 1) count = 0;
  if (count > 0 && sparsity > 0) {
    // The number of excluded heads is the number of gates below rank sparsity * (n - 1). 1e-9
    // compensates the rounding error of this multiplication.
    const double rank = sparsity * static_cast<double>(count - 1);
    count -= static_cast<size_t>(std::ceil(rank - 1e-9));
  }
  for (size_t i = 0; i < count; ++i) full[heads[i].layer][heads[i].head] = 1;
  return full;
}

FullHeads full_by_threshold(const HeadGates& gates, double threshold) {
  FullHeads full;
  for (const auto& layer : gates) {
    full.emplace_back();
    for (const double gate : layer) full.back().push_back(gate >= threshold ? 1 : 0);
  }
  return full;
}

FullHeads all_heads(std::span<const int> kv_heads, bool full) {
  FullHeads heads;
  for (const int count : kv_heads) heads.emplace_back(static_cast<size_t>(count), full ? 1 : 0);
  return heads;
}

}  // namespace longhaul
