#pragma once
// Measured scores of docs/results, for the pages that help to choose a method.

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

/// Returns the measurement that is most similar to a text of `tokens` tokens. If `model` was not
/// measured, the measurements of a reference model are used. Measurements with the same options of
/// the method are preferred to those with other options. Among the remaining ones, the result is
/// that of the longest texts that are not longer than `tokens`, or of the shortest texts if all are
/// longer. The result is empty if the method was not measured.
std::optional<MeasuredScore> measured_score(const std::string& model, const std::string& attention,
                                            int64_t tokens);

}  // namespace longhaul::serve
