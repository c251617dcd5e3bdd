#pragma once
// ThresholdSearch finds theta and phi by random search (Ltri-LLM, arXiv:2412.04757, section 5).
// ltri uses these two values to divide a layer's blocks into spans. theta is a quantile of the
// block's attention map, and is drawn from (0.0001, 0.95). phi is the largest overlap of two spans,
// and is drawn from (0.01, 0.95). Both distributions are uniform. The aim is that one of the spans
// equals the sentence with the evidence, which a question will ask for. The search also counts the
// index vectors for each value of lambda (section 3.3.2).

#include <cstdint>
#include <span>
#include <vector>

#include "attention/methods/ltri/span_division.h"

namespace longhaul {

struct ThresholdSearchSettings {
  /// Number of trials per layer; the first one is theta 0.9, phi 0.1, the usual values in the
  /// paper.
  int trials = 200;
  int spans = 4;     ///< largest number of spans per block
  int vectors = 12;  ///< largest number of index vectors per block
  SpanNeighbours ratio = SpanNeighbours::kRow;
  uint64_t seed = 1;
};

/// Returns the F1 score of a span's tokens relative to another span.
double span_f1(const BlockSpan& span, const BlockSpan& wanted);

class ThresholdSearch {
 public:
  struct Trial {
    float theta = 0, phi = 0;
  };
  struct Found {
    Trial trial;
    double f1 = 0;       ///< F1 of the best span, averaged over the blocks with evidence
    double usual = 0;    ///< f1 of the first trial
    int64_t blocks = 0;  ///< number of blocks with evidence
  };

  ThresholdSearch(int layers, const ThresholdSearchSettings& settings);

  /// Returns the values of a trial.
  Trial trial(int layer, int number) const;
  /// Evaluates a block of the layer in all trials. `evidence` is the range of the block's tokens
  /// that contain the evidence. If its length is 0, only index vectors are counted.
  void add(int layer, const BlockMap& map, const BlockSpan& evidence);

  /// Returns the trial with the highest mean F1. Among equal trials it is the first one. If no
  /// block had evidence, it is the first trial.
  Found best(int layer) const;
  /// Returns lambda for the best trial. It is the smallest candidate with at most one index vector
  /// per `compression` tokens. If there is no such candidate, it is the one with the fewest
  /// vectors.
  double lambda(int layer, double compression) const;
  /// Returns the number of tokens per index vector for the best trial and this lambda. 0 if there
  /// are no blocks.
  double compression(int layer, double lambda) const;

  static std::span<const float> lambdas();  ///< returns the candidates for lambda, ascending

  /// Returns all counts, for a file. Per layer they are: the number of blocks with evidence, the
  /// number of tokens, the sums of F1 [trials], and the numbers of index vectors [trials,
  /// lambdas()].
  const std::vector<double>& numbers() const { return numbers_; }
  /// Sets the counts. Returns false if they are invalid or if their number is wrong.
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
