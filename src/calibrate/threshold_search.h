#pragma once
// ThresholdSearch finds the parameters theta and phi of ltri for each layer by random search
// (Ltri-LLM, arXiv:2412.04757, section 5). With these parameters, ltri divides the blocks of a text
// into spans. theta is a quantile of the block's attention map (calibrate/block_maps.h). phi is the
// largest overlap of two spans. A trial draws theta from (0.0001, 0.95) and phi from (0.01, 0.95),
// both uniformly. The evidence is the sentence that contains the answer to a question. The best
// trial is the one in which a span is most similar to the evidence. ltri stores index vectors for
// each block; their number depends on the parameter lambda (section 3.3.2). The search also counts
// the index vectors for several candidates of lambda.

#include <cstdint>
#include <span>
#include <vector>

#include "attention/methods/ltri/span_division.h"

namespace longhaul {

struct ThresholdSearchSettings {
  /// Number of trials per layer. The first trial has theta 0.9 and phi 0.1, the defaults of the
  /// paper.
  int trials = 200;
  int spans = 4;     ///< largest number of spans per block
  int vectors = 12;  ///< largest number of index vectors per block
  SpanNeighbours ratio = SpanNeighbours::kRow;
  uint64_t seed = 1;
};

/// Returns the F1 score of the tokens of `span`, relative to the tokens of `wanted`.
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

  /// Returns theta and phi of trial `number` in a layer.
  Trial trial(int layer, int number) const;
  /// Divides a block into spans with the parameters of every trial, and adds the F1 scores and the
  /// numbers of index vectors to the sums of the trials. `evidence` is the range of tokens in the
  /// block that contain the evidence. If its length is 0, only index vectors are counted.
  void add(int layer, const BlockMap& map, const BlockSpan& evidence);

  /// Returns the trial with the highest mean F1, or the first of several such trials. If no block
  /// had evidence, returns the first trial.
  Found best(int layer) const;
  /// Returns lambda for the best trial. It is the smallest candidate with which there is at most
  /// one index vector per `compression` tokens. If there is no such candidate, it is the candidate
  /// with the fewest index vectors.
  double lambda(int layer, double compression) const;
  /// Returns the number of tokens per index vector for the best trial and this lambda, or 0 if no
  /// block has been added.
  double compression(int layer, double lambda) const;

  static std::span<const float> lambdas();  ///< returns the candidates for lambda, ascending

  /// Returns all sums, so that they can be saved. For each layer they are: the number of blocks
  /// with evidence, the number of tokens, the sums of F1 [trials], and the numbers of index vectors
  /// [trials, lambdas()].
  const std::vector<double>& numbers() const { return numbers_; }
  /// Restores the sums. Returns false if a sum is invalid or if their number is wrong.
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
