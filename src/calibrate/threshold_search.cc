#include "calibrate/threshold_search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "eval/random.h"

namespace longhaul {
namespace {

constexpr float kLambdas[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20};
constexpr size_t kBlocks = 0, kTokens = 1, kSums = 2;  // positions in a layer's numbers

/// Computes map_quantile() for many levels of one map.
class Quantiles {
 public:
  explicit Quantiles(const BlockMap& map) {
    for (int i = 0; i < map.n; ++i) {
      entries_.insert(entries_.end(), map.map + i * map.stride, map.map + i * map.stride + i + 1);
    }
    std::ranges::sort(entries_);
  }
  float at(double level) const {
    const double rank = level * static_cast<double>(entries_.size() - 1);
    const auto below = static_cast<size_t>(rank);
    const float low = entries_[below];
    if (below + 1 == entries_.size()) return low;
    return low + static_cast<float>(rank - std::floor(rank)) * (entries_[below + 1] - low);
  }

 private:
  std::vector<float> entries_;
};

}  // namespace

double span_f1(const BlockSpan& span, const BlockSpan& wanted) {
  const int shared = std::min(span.end, wanted.end) - std::max(span.begin, wanted.begin);
  if (shared <= 0) return 0;
  return 2.0 * shared / (span.length() + wanted.length());
}

std::span<const float> ThresholdSearch::lambdas() { return kLambdas; }

ThresholdSearch::ThresholdSearch(int layers, const ThresholdSearchSettings& settings)
    : settings_(settings) {
  LH_ASSERT(settings.trials > 0 && settings.spans > 0 && settings.vectors > 0);
  numbers_.assign(static_cast<size_t>(layers) * layer_size(), 0.0);
}

size_t ThresholdSearch::layer_size() const {
  return kSums + static_cast<size_t>(settings_.trials) * (1 + std::size(kLambdas));
}

std::span<double> ThresholdSearch::of(int layer) {
  return std::span(numbers_).subspan(static_cast<size_t>(layer) * layer_size(), layer_size());
}
std::span<const double> ThresholdSearch::of(int layer) const {
  return std::span(numbers_).subspan(static_cast<size_t>(layer) * layer_size(), layer_size());
}

ThresholdSearch::Trial ThresholdSearch::trial(int layer, int number) const {
  if (number == 0) return {0.9f, 0.1f};
  Random random("ltri spans", settings_.seed, layer, number);
  const double theta = 0.0001 + random.unit() * (0.95 - 0.0001);
  const double phi = 0.01 + random.unit() * (0.95 - 0.01);
  return {static_cast<float>(theta), static_cast<float>(phi)};
}

void ThresholdSearch::add(int layer, const BlockMap& map, const BlockSpan& evidence) {
  const std::span<double> numbers = of(layer);
  const bool asked = evidence.length() > 0;
  numbers[kBlocks] += asked ? 1 : 0;
  numbers[kTokens] += map.n;
  const Quantiles quantiles(map);
  const auto trials = static_cast<size_t>(settings_.trials);
  const int most = (settings_.vectors + settings_.spans - 1) / settings_.spans;
  parallel_for(settings_.trials, [&](int64_t number, int) {
    const auto t = static_cast<size_t>(number);
    const Trial tried = trial(layer, static_cast<int>(number));
    double best = 0;
    double* const counts = numbers.data() + kSums + trials + t * std::size(kLambdas);
    for (const BlockSpan& span :
         divide_into_spans(map, {quantiles.at(tried.theta), tried.phi, settings_.spans})) {
      if (asked) best = std::max(best, span_f1(span, evidence));
      const float ratio = span_ratio(map, span, settings_.ratio);
      for (size_t l = 0; l < std::size(kLambdas); ++l) {
        counts[l] += index_count(span.length(), ratio, kLambdas[l], most);
      }
    }
    numbers[kSums + t] += best;
  });
}

size_t ThresholdSearch::best_number(int layer) const {
  const auto sums = of(layer).subspan(kSums, static_cast<size_t>(settings_.trials));
  return static_cast<size_t>(std::ranges::max_element(sums) - sums.begin());
}

ThresholdSearch::Found ThresholdSearch::best(int layer) const {
  const std::span<const double> numbers = of(layer);
  const size_t number = best_number(layer);
  const double blocks = std::max(1.0, numbers[kBlocks]);
  return {trial(layer, static_cast<int>(number)), numbers[kSums + number] / blocks,
          numbers[kSums] / blocks, static_cast<int64_t>(numbers[kBlocks])};
}

double ThresholdSearch::vectors(int layer, size_t trial, size_t lambda) const {
  return of(
      layer)[kSums + static_cast<size_t>(settings_.trials) + trial * std::size(kLambdas) + lambda];
}

double ThresholdSearch::lambda(int layer, double compression) const {
  const size_t trial = best_number(layer);
  const double fewest = vectors(layer, trial, std::size(kLambdas) - 1);
  const double most = std::max(fewest, of(layer)[kTokens] / compression);
  for (size_t l = 0; l < std::size(kLambdas); ++l) {
    if (vectors(layer, trial, l) <= most) return kLambdas[l];
  }
  return kLambdas[std::size(kLambdas) - 1];
}

double ThresholdSearch::compression(int layer, double lambda) const {
  const auto at = std::ranges::find(kLambdas, static_cast<float>(lambda));
  LH_ASSERT(at != std::end(kLambdas));
  const double count =
      vectors(layer, best_number(layer), static_cast<size_t>(at - std::begin(kLambdas)));
  return count > 0 ? of(layer)[kTokens] / count : 0;
}

bool ThresholdSearch::set_numbers(std::vector<double> numbers) {
  const bool sound = numbers.size() == numbers_.size() &&
                     std::ranges::all_of(numbers, [](double n) { return n >= 0 && n < 1e15; });
  if (sound) numbers_ = std::move(numbers);
  return sound;
}

}  // namespace longhaul
