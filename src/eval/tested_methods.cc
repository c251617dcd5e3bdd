#include "eval/tested_methods.h"

#include <algorithm>
#include <set>

#include "attention/method_spec.h"
#include "base/error.h"
#include "eval/record.h"

namespace longhaul {
namespace {

constexpr int64_t kFewTokens = 64;  // as short as a user's case may be

/// Whether any task fills the requested lengths.
bool has_filled(std::span<const PlannedTask> tasks) {
  return std::any_of(tasks.begin(), tasks.end(),
                     [](const PlannedTask& task) { return task.scales; });
}

bool begins_densely(const MethodSpec& method, const ModelShape& shape) {
  constexpr PromptFacts kSomePrompt{
      .begin = 0, .tokens = 1 << 20, .instruction = 16, .chunk = 1024};
  return method.make(shape)->dense_prefix(kSomePrompt) > 0;
}

/// Sets default lengths. Benchmarks cut texts with their own lengths to the model's.
void choose_lengths(EvalSettings& settings, const ModelShape& shape,
                    std::span<const PlannedTask> tasks) {
  if (!settings.lengths.empty()) {
    settings.longest_text = *std::max_element(settings.lengths.begin(), settings.lengths.end());
    return;
  }
  settings.longest_text = shape.trained_context;
  if (has_filled(tasks)) settings.lengths = {kUsualLength};
}

/// Length that every method must be able to read. Only tasks of any length have prompts as long as
/// requested.
int64_t shortest_prompt(const std::vector<int64_t>& lengths, std::span<const PlannedTask> tasks) {
  return has_filled(tasks) && !lengths.empty() ? *std::min_element(lengths.begin(), lengths.end())
                                               : kFewTokens;
}

}  // namespace

EvalSettings for_model(EvalSettings settings, const ModelShape& shape,
                       std::span<const PlannedTask> tasks) {
  choose_lengths(settings, shape, tasks);
  const int64_t shortest = shortest_prompt(settings.lengths, tasks);
  std::set<std::string> names;
  if (settings.inject_evidence && shown_evidence(settings).empty()) {
    user_error("--inject-evidence: none of the methods looks up blocks of the text (infllm, ltri)");
  }
  for (MethodSpec& method : settings.methods) {
    method = method.for_model(shape);
    const std::string name = method.text();
    if (!names.insert(name).second) user_error("--attention: {} is given twice", name);
    check_method(
        method, shape, settings.session.kv_type,
        {.begin = 0, .tokens = shortest, .instruction = 1, .chunk = settings.session.chunk});
  }
  return settings;
}

std::vector<TestedMethod> tested_methods_of(const EvalSettings& settings, const ModelShape& shape) {
  std::vector<TestedMethod> tested_methods;
  SessionOptions session = settings.session;
  session.at_a_time = std::max(1, settings.parallel);
  for (const MethodSpec& method : settings.methods) {
    tested_methods.push_back({method.text(), session, TestedMethod::Reads::kWhole});
    TestedMethod& tested_method = tested_methods.back();
    tested_method.options.attention = method;
    tested_method.dense = method.info().name == "dense";
    tested_method.shares = settings.share_reading && begins_densely(method, shape);
  }
  for (const MethodSpec& method : shown_evidence(settings)) {
    tested_methods.push_back({std::string(kWithEvidence) + method.text(), session});
    tested_methods.back().options.attention = method;
    tested_methods.back().shown_evidence = true;
  }
  std::stable_partition(tested_methods.begin(), tested_methods.end(),
                        [](const TestedMethod& tested_method) { return tested_method.dense; });
  if (settings.controls) {
    SessionOptions dense = session;
    dense.attention = MethodSpec::parse("dense");
    tested_methods.push_back({std::string(kNoContext), dense, TestedMethod::Reads::kQuestionOnly});
    tested_methods.push_back({std::string(kMiddleCut), dense, TestedMethod::Reads::kWithoutMiddle});
  }
  return tested_methods;
}

bool concerns(const TestedMethod& tested_method, const Sample& sample) {
  return !sample.perplexity || !of_control(tested_method.name);
}

}  // namespace longhaul
