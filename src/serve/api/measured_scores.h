#pragma once
// Lists measured scores of attention methods (docs/results). The server uses them to recommend a
// method.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace longhaul::serve {

/// The score of a model with an attention method: the mean share of correct answers over tasks of
/// one length.
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

/// Returns the measurement that is most similar to the given case: `model` with the attention
/// method `attention` and a text of `tokens` tokens. If `model` was not measured, the measurements
/// of a reference model are used. A measurement with the same options as `attention` is preferred
/// to one with other options. Among several candidates, the one with the longest text of at most
/// `tokens` tokens is returned, or the one with the shortest text if all texts are longer. The
/// result is empty if the method was not measured.
std::optional<MeasuredScore> measured_score(const std::string& model, const std::string& attention,
                                            int64_t tokens);

}  // namespace longhaul::serve
