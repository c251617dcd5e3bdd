#include "serve/api/measured_scores.h"

#include <string_view>
#include <tuple>

namespace longhaul::serve {
namespace {

constexpr std::string_view kUsualModel = "smollm2-32k";

bool was_measured(std::string_view model) {
  for (const MeasuredRow& row : measured_rows()) {
    if (row.model == model) return true;
  }
  return false;
}

std::string_view method_name(std::string_view attention) {
  return attention.substr(0, attention.find(':'));
}

std::optional<double> dense_score(const MeasuredRow& beside) {
  for (const MeasuredRow& row : measured_rows()) {
    const bool same = row.model == std::string_view(beside.model) && row.tokens == beside.tokens;
    if (same && row.attention == std::string_view("dense")) return row.score;
  }
  return std::nullopt;
}

}  // namespace

std::optional<MeasuredScore> measured_score(const std::string& model, const std::string& attention,
                                            int64_t tokens) {
  const std::string_view measured = was_measured(model) ? std::string_view(model) : kUsualModel;
  const MeasuredRow* best = nullptr;
  // The setting counts more than the length.
  const auto rank = [&](const MeasuredRow& row) {
    const bool fits = row.tokens <= tokens;
    return std::tuple(row.attention == attention, fits, fits ? row.tokens : -row.tokens);
  };
  for (const MeasuredRow& row : measured_rows()) {
    if (row.model != measured || method_name(row.attention) != method_name(attention)) continue;
    if (best == nullptr || rank(row) > rank(*best)) best = &row;
  }
  if (best == nullptr) return std::nullopt;
  const auto dense = dense_score(*best);
  if (!dense) return std::nullopt;
  return MeasuredScore{*best, *dense};
}

}  // namespace longhaul::serve
