#include "cli/longer_model.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "cli/model_summary.h"
#include "engine/model_names.h"
#include "format/checkpoint.h"

namespace longhaul {
namespace {

/// 0 for a model that cannot be run.
int64_t trained_length_of(const std::string& name) {
  try {
    const ModelSource source = find_model_source(name);
    const ModelSummary summary = summary_of(open_checkpoint(source.path), source, name);
    if (!summary.unsupported.empty()) return 0;
    return summary.adapted.value_or(summary.context.value_or(0));
  } catch (const UserError&) {  // incomplete or damaged
    return 0;
  }
}

/// The models at hand without the test model, the usual one first.
std::vector<std::string> names_to_try() {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (name != "nano" && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  try {
    add(chat_model());
  } catch (const UserError&) {  // there is none
  }
  for (const NamedModel& model : models_at_hand()) add(model.name);
  return names;
}

}  // namespace

std::optional<LongerModel> longer_model(int64_t tokens) {
  for (const std::string& name : names_to_try()) {
    const int64_t trained = trained_length_of(name);
    if (trained >= tokens) return LongerModel{name, trained};
  }
  return std::nullopt;
}

}  // namespace longhaul
