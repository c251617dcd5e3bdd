#include "eval/run_settings.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/parallel.h"
#include "base/system_info.h"
#include "text/json_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

std::string now_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

/// What records of one run must share to be compared with each other.
ordered_json conditions(const EvalSettings& s, const Engine& engine) {
  ordered_json conditions = {
      {"model", fmt::format("{:016x}", engine.fingerprint())},
      {"seed", s.seed},
      {"chat template", s.raw                     ? "none"
                        : s.chat_template.empty() ? "the model's"
                                                  : s.chat_template},
      {"kv type", name_of(s.session.kv_type)},
      {"compute", s.session.compute == Compute::kF32 ? "f32" : "best"},
      {"chunk", s.session.chunk},
      {"kept by control:middle-cut", s.kept_by_cut},
      {"kernels", s.isa},
      {"threads", thread_count()},
      {"parallel", s.parallel},
      {"shared readings", s.share_reading},
      {"version", s.version},
  };
  return conditions;
}

/// What `more` has beyond `held`, put behind it.
void add_missing(ordered_json& held, const ordered_json& more) {
  if (!held.is_array()) held = ordered_json::array();
  for (const auto& item : more) {
    const bool known = std::any_of(held.begin(), held.end(), [&](const ordered_json& h) {
      if (!item.is_object() || !h.is_object()) return h == item;
      return h.value("name", ordered_json()) == item.value("name", ordered_json());
    });
    if (!known) held.push_back(item);
  }
}

void write_json(const fs::path& path, const ordered_json& value) {
  const fs::path fresh = path.string() + ".new";
  {
    std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
    out << value.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
    out.flush();
    if (!out) user_error("{}: cannot be written", fresh.string());
  }
  std::error_code error;
  fs::rename(fresh, path, error);
  if (error) user_error("{}: cannot be written: {}", path.string(), error.message());
}

/// A run.json that people or other programs have written must not be believed.
void check_kinds(const fs::path& path, const ordered_json& held) {
  const auto expect = [&](const char* key, bool (*fits)(const ordered_json&), const char* what) {
    const auto found = held.find(key);
    if (found == held.end() || fits(*found)) return;
    user_error("{}: key '{}' is {}, expected {}", path.string(), key, printable(found->dump()),
               what);
  };
  const auto is_list = [](const ordered_json& value) { return value.is_array(); };
  for (const char* key : {"tasks", "methods", "lengths"}) expect(key, is_list, "a list");
  expect(
      "settings", [](const ordered_json& value) { return value.is_object(); }, "an object");
  expect(
      "openings", [](const ordered_json& value) { return value.is_string(); }, "a text");
  expect(
      "samples",
      [](const ordered_json& value) {
        return value.is_number_integer() && value.get<int64_t>() >= 0;
      },
      "a whole number");
}

void check_same(const fs::path& folder, const ordered_json& before, const ordered_json& now) {
  for (const auto& [key, value] : now.items()) {
    const auto held = before.find(key);
    if (held != before.end() && *held == value) continue;
    user_error("{} holds a run with {} {}, this one has {}: give another --out", folder.string(),
               key, held == before.end() ? "unknown" : held->dump(), value.dump());
  }
}

}  // namespace

std::vector<std::string> method_names(const EvalSettings& settings) {
  std::vector<std::string> names;
  for (const MethodSpec& method : settings.methods) names.push_back(method.text());
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
  run["command"] = s.command;
  run["started"] = now_utc();
  run["seed"] = s.seed;
  run["model"] = {{"name", s.model},
                  {"weight_bytes", engine.weight_bytes()},
                  {"layers", model.shape.layers},
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
  run["settings"] = ordered_json::object();  // "duo" is what the model's profile says
  for (const MethodSpec& method : s.methods) {
    run["settings"][method.text()] = fmt::format("{:016x}", method.fingerprint());
  }
  run["lengths"] = s.lengths;
  run["samples"] = s.samples;
  run["openings"] = name_of(s.openings);
  run["conditions"] = conditions(s, engine);
  return run;
}

void begin_run(const std::filesystem::path& folder, const nlohmann::ordered_json& run) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) user_error("--out {}: cannot be made: {}", folder.string(), error.message());
  const fs::path path = folder / "run.json";
  if (!fs::exists(path, error)) {
    if (fs::exists(folder / "samples.jsonl", error)) {
      user_error("--out {}: holds samples.jsonl without run.json", folder.string());
    }
    write_json(path, run);
    return;
  }
  ordered_json held = ordered_json::parse(read_json_file(path).dump());
  check_kinds(path, held);
  const auto before = held.find("conditions");
  if (before == held.end() || !before->is_object()) {
    user_error("{}: key 'conditions' is missing", path.string());
  }
  check_same(folder, *before, run.at("conditions"));
  for (const auto& task : run.at("tasks")) {
    for (const auto& earlier : held.value("tasks", ordered_json::array())) {
      if (!earlier.is_object() || earlier.value("name", ordered_json()) != task.at("name"))
        continue;
      if (earlier.value("contents", ordered_json()) == task.value("contents", ordered_json()))
        continue;
      user_error("{} holds a run of {} with other contents of the file: give another --out",
                 folder.string(), task.at("name").dump());
    }
  }
  ordered_json merged = run;
  const auto earlier_settings = held.value("settings", ordered_json::object());
  for (const auto& [method, settings] : earlier_settings.items()) {
    if (merged["settings"].value(method, settings) != settings) {
      user_error(
          "{} holds a run of {} with other settings: the model's profile or a file that it names "
          "has changed; give another --out",
          folder.string(), method);
    }
    merged["settings"][method] = settings;
  }
  for (const char* key : {"tasks", "methods", "lengths"}) {
    ordered_json list = held.value(key, ordered_json::array());
    add_missing(list, run.at(key));
    merged[key] = std::move(list);
  }
  if (const auto earlier = held.find("samples"); earlier != held.end() && earlier->is_number()) {
    merged["samples"] = std::max(earlier->get<int64_t>(), run.at("samples").get<int64_t>());
  }
  if (held.contains("started")) merged["started"] = held["started"];
  if (held.value("openings", "") != run.at("openings")) merged["openings"] = "both";
  if (merged != held) write_json(path, merged);
}

}  // namespace longhaul
