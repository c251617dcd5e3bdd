#pragma once
// Random search for the thresholds by which ltri divides a layer's blocks into spans (Ltri-LLM,
// arXiv:2412.04757, section 5): theta, a quantile of the block's map, uniformly within (0.0001,
// 0.95), and phi, the overlap of two spans, within (0.01, 0.95), so that some span of the block is
// the sentence that will be asked for. Beside it, what each lambda would cost (3.3.2).

#include <cstdint>
#include <span>
#include <vector>

#include "ops/blocks/span_division.h"

namespace longhaul {

struct ThresholdSearchSettings {
  int trials = 200;  ///< of every layer; the first is theta 0.9, phi 0.1, the paper's usual values
  int spans = 4;     ///< of a block, at most
  int vectors = 12;  ///< index vectors of a block, at most
  SpanNeighbours ratio = SpanNeighbours::kRow;
  uint64_t seed = 1;
};

/// F1 of a span's tokens against those of another.
double span_f1(const BlockSpan& span, const BlockSpan& wanted);

class ThresholdSearch {
 public:
  struct Trial {
    float theta = 0, phi = 0;
  };
  struct Found {
    Trial trial;
    double f1 = 0;     ///< mean over the blocks with evidence of the best span's F1
    double usual = 0;  ///< the same of the first trial
    int64_t blocks = 0;
  };

  ThresholdSearch(int layers, const ThresholdSearchSettings& settings);

  Trial trial(int layer, int number) const;
  /// A block of the layer under all trials. `evidence`: tokens of the block, none where its length
  /// is 0: then only the costs of lambda are counted.
  void add(int layer, const BlockMap& map, const BlockSpan& evidence);

  /// The trial with the highest mean, of equal ones the first; the first where no block had any
  /// evidence.
  Found best(int layer) const;
  /// With that trial the smallest lambda under which blocks have at most one index vector for
  /// `compression` tokens, of those that are tried; where none does, with as few as can be.
  double lambda(int layer, double compression) const;
  /// Tokens for each index vector under that trial and lambda; 0 without blocks.
  double compression(int layer, double lambda) const;

  static std::span<const float> lambdas();  ///< that are tried, ascending

  /// Everything that was counted, for a file: per layer blocks with evidence, tokens, sums of F1
  /// [trials], index vectors [trials, lambdas()].
  const std::vector<double>& numbers() const { return numbers_; }
  /// Of as many numbers; false where they make no sense.
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
