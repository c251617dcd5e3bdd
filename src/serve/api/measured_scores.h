#pragma once
// Scores of docs/results for the pages that help to choose a method.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace longhaul::serve {

/// The mean share of right answers of a model with a method, over tasks of one length.
struct MeasuredRow {
  const char* model;
  int64_t tokens;
  int tasks;
  const char* attention;
  double score;
};
std::span<const MeasuredRow> measured_rows();

struct MeasuredScore {
  MeasuredRow row;
  double dense = 0;  ///< score of dense attention on the same tasks
};

/// The measurement for a text of `tokens` tokens: of this model, or else of the larger one that was
/// measured; with this setting of the method, or else with another one; of the longest texts that
/// are no longer than `tokens`, or else of the shortest ones. None: the method was not measured.
std::optional<MeasuredScore> measured_score(const std::string& model, const std::string& attention,
                                            int64_t tokens);

}  // namespace longhaul::serve
