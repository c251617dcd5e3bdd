#include "attention/methods/pyramidkv/pyramid_budget.h"

namespace longhaul {

int64_t PyramidBudget::scheduled(int layer, int64_t tokens) const {
  const int64_t average = capacity - window;
  int64_t least = average / beta;
  int64_t most = 2 * average - least;
  if (most >= tokens - window) {
    most = tokens - window;
    least = 2 * average - most;
  }
  const int64_t step = layers > 1 ? (most - least) / (layers - 1) : 0;
  return layers > 1 ? most - layer * step : average;
}

int64_t PyramidBudget::kept(int layer, int64_t tokens) const {
  if (tokens < capacity) return tokens;
  if (tokens < 2 * (capacity - window)) return capacity;
  return scheduled(layer, tokens) + window;
}

}  // namespace longhaul
