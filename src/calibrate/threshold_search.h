#pragma once
// Random search for the thresholds with which ltri divides a layer's blocks into spans (Ltri-LLM,
// arXiv:2412.04757, section 5). theta, a quantile of the block's map, is uniform within (0.0001,
// 0.95). phi, the overlap of two spans, is uniform within (0.01, 0.95). The aim is that some span
// of the block equals the sentence that will be asked for. The search also counts the cost of each
// lambda (3.3.2).

#include <cstdint>
#include <span>
#include <vector>

#include "ops/blocks/span_division.h"

namespace longhaul {

struct ThresholdSearchSettings {
  int trials = 200;  ///< per layer; the first is theta 0.9, phi 0.1, the paper's usual values
  int spans = 4;     ///< most spans per block
  int vectors = 12;  ///< most index vectors per block
  SpanNeighbours ratio = SpanNeighbours::kRow;
  uint64_t seed = 1;
};

/// F1 of a span's tokens relative to another span.
double span_f1(const BlockSpan& span, const BlockSpan& wanted);

class ThresholdSearch {
 public:
  struct Trial {
    float theta = 0, phi = 0;
  };
  struct Found {
    Trial trial;
    double f1 = 0;     ///< F1 of the best span, averaged over the blocks with evidence
    double usual = 0;  ///< the corresponding value for the first trial
    int64_t blocks = 0;
  };

  ThresholdSearch(int layers, const ThresholdSearchSettings& settings);

  Trial trial(int layer, int number) const;
  /// Evaluates a block of the layer in all trials. `evidence` are tokens of the block; if its
  /// length is 0 only the costs of lambda are counted.
  void add(int layer, const BlockMap& map, const BlockSpan& evidence);

  /// The trial with the highest mean, among equals the first; the first trial if no block had
  /// evidence.
  Found best(int layer) const;
  /// For that trial, the smallest candidate lambda with at most one index vector per `compression`
  /// tokens; if there is none, the lambda with the fewest vectors.
  double lambda(int layer, double compression) const;
  /// Tokens per index vector for that trial and lambda; 0 without blocks.
  double compression(int layer, double lambda) const;

  static std::span<const float> lambdas();  ///< candidate values, ascending

  /// All counts, for a file: per layer blocks with evidence, tokens, sums of F1 [trials], index
  /// vectors [trials, lambdas()].
  const std::vector<double>& numbers() const { return numbers_; }
  /// Sets the counts; returns false if they are invalid or of another number.
  bool set_numbers(std::vector<double> numbers);

 private:
  size_t layer_size() const;
  std::span<double> of(int layer);
  std::span<const double> of(int layer) const;
  size_t best_number(int layer) const;
  double vectors(int layer, size_t trial, size_t lambda) const;

  ThresholdSearchSettings settings_;
  std::vector<double> numbers_;
};

}  // namespace longhaul
