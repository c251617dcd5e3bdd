#include "eval/run_settings.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parallel.h"
#include "base/parse_number.h"
#include "base/system_info.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

std::string now_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

/// Conditions that the records of one run must share to be comparable.
ordered_json conditions(const EvalSettings& s, const Engine& engine) {
  ordered_json conditions = {
      {"model", fmt::format("{:016x}", engine.fingerprint())},
      {"seed", s.seed},
      {"chat template", s.raw                     ? "none"
                        : s.chat_template.empty() ? "the model's"
                                                  : s.chat_template},
      {"kv type", name_of(s.session.kv_type)},
      {"compute", name_of(s.session.compute)},
      {"chunk", s.session.chunk},
      {"kept by control:middle-cut", s.kept_by_cut},
      {"kernels", s.isa},
      {"threads", thread_count()},
      {"parallel", s.parallel},
      {"shared readings", s.share_reading},
      {"version", s.version},
  };
  if (s.simulated > 0) conditions["tokens read as generated"] = s.simulated;
  if (s.shard.count > 1) conditions["shard"] = s.shard.text();
  return conditions;
}

constexpr int kMostShards = 1 << 16;

}  // namespace

std::string EvalShard::text() const { return fmt::format("{}/{}", index + 1, count); }

EvalShard shard_from(const std::string& text) {
  const size_t slash = text.find('/');
  int number = 0, count = 0;
  if (slash == std::string::npos || !parse_number(text.substr(0, slash), number) ||
      !parse_number(text.substr(slash + 1), count)) {
    user_error("--shard {}: expected a number and how many there are, such as 1/4",
               printable(text));
  }
  if (count < 1 || count > kMostShards) {
    user_error("--shard {}: there are between 1 and {} shards", printable(text), kMostShards);
  }
  if (number < 1 || number > count) {
    user_error("--shard {}: the shards of {} are 1/{} to {}/{}", printable(text), count, count,
               count, count);
  }
  return {number - 1, count};
}

std::vector<MethodSpec> shown_evidence(const EvalSettings& settings) {
  std::vector<MethodSpec> shown;
  if (!settings.inject_evidence) return shown;
  std::ranges::copy_if(settings.methods, std::back_inserter(shown),
                       [](const MethodSpec& method) { return method.info().looks_up; });
  return shown;
}

std::vector<std::string> method_names(const EvalSettings& settings) {
  std::vector<std::string> names;
  for (const MethodSpec& method : settings.methods) names.push_back(method.text());
  for (const MethodSpec& method : shown_evidence(settings)) {
    names.push_back(std::string(kWithEvidence) + method.text());
  }
  if (settings.controls) {
    names.emplace_back(kNoContext);
    names.emplace_back(kMiddleCut);
  }
  return names;
}

std::string_view name_of(Openings openings) {
  switch (openings) {
    case Openings::kOff:
      return "off";
    case Openings::kOn:
      return "on";
    case Openings::kBoth:
      break;
  }
  return "both";
}

nlohmann::ordered_json run_json(const EvalSettings& s, const Engine& engine,
                                std::span<const PlannedTask> tasks) {
  const Model& model = engine.model();
  ordered_json run;
  run["version"] = s.version;
  if (!s.build.empty()) run["build"] = s.build;
  run["command"] = s.command;
  run["started"] = now_utc();
  run["seed"] = s.seed;
  run["model"] = {{"name", s.model},
                  {"weight_bytes", engine.weight_bytes()},
                  {"layers", model.shape.layers},
                  {"recurrent_layers", model.config.recurrent_layers()},
                  {"query_heads", model.shape.heads},
                  {"head_dim", model.shape.head_dim},
                  {"trained_context", model.shape.trained_context}};
  run["machine"] = {{"cpu", cpu_model_name()}, {"threads", thread_count()}, {"kernels", s.isa}};
  run["tasks"] = ordered_json::array();
  for (const PlannedTask& task : tasks) {
    ordered_json item = {{"name", task.name},
                         {"summary", task.summary},
                         {"rule", task.rule},
                         {"source", task.source}};
    if (!task.contents.empty()) item["contents"] = task.contents;
    run["tasks"].push_back(std::move(item));
  }
  run["methods"] = method_names(s);
  run["settings"] = ordered_json::object();  // "duo" depends on the model's profile
  for (const MethodSpec& method : s.methods) {
    run["settings"][method.text()] = fmt::format("{:016x}", method.fingerprint());
  }
  run["profile_settings"] = ordered_json::object();
  for (const MethodSpec& method : s.methods) {
    if (const std::string text = method.profile_text(); !text.empty()) {
      run["profile_settings"][method.text()] = text;
    }
  }
  run["lengths"] = s.lengths;
  run["samples"] = s.samples;
  run["openings"] = name_of(s.openings);
  run["conditions"] = conditions(s, engine);
  return run;
}

}  // namespace longhaul
