// run.json of a folder: a new one, or one to which a further run is added.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/paths.h"
#include "eval/run_settings.h"
#include "text/json_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kFile = "run.json";

bool is_text(const ordered_json& value) { return value.is_string(); }
bool is_object(const ordered_json& value) { return value.is_object(); }
bool is_list(const ordered_json& value) { return value.is_array(); }
bool is_list_of_texts(const ordered_json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), is_text);
}
bool is_count(const ordered_json& value) {
  return value.is_number_integer() && value.get<int64_t>() >= 0;
}

/// Whether the value has the form made by asked_by().
bool is_asked(const ordered_json& value) {
  const auto has = [&](const char* key, bool (*fits)(const ordered_json&)) {
    return value.contains(key) && fits(value[key]);
  };
  return value.is_object() && has("tasks", is_list) && has("methods", is_list) &&
         has("lengths", is_list) && has("samples", is_count) && has("openings", is_text);
}

/// Checks a run.json, which may have been edited by people or other programs.
void check_kinds(const fs::path& path, const ordered_json& held) {
  constexpr struct {
    const char* key;
    bool (*fits)(const ordered_json&);
    const char* what;
  } kKinds[] = {
      {"tasks", is_list, "a list"},    {"methods", is_list, "a list"},
      {"lengths", is_list, "a list"},  {"settings", is_object, "an object"},
      {"openings", is_text, "a text"}, {"samples", is_count, "a whole number"},
      {"command", is_text, "a text"},  {"commands", is_list_of_texts, "a list of texts"},
      {"build", is_text, "a text"},    {"unfinished", is_asked, "an object of what was asked"},
  };
  for (const auto& [key, fits, what] : kKinds) {
    const auto found = held.find(key);
    if (found == held.end() || fits(*found)) continue;
    user_error("{}: key '{}' is {}, expected {}", path.string(), key, printable(found->dump()),
               what);
  }
  const auto conditions = held.find("conditions");
  if (conditions == held.end() || !conditions->is_object()) {
    user_error("{}: key 'conditions' is missing", path.string());
  }
}

/// The name of the run's model, as written by its user.
std::string model_of(const ordered_json& run) {
  const auto model = run.find("model");
  if (model == run.end() || !model->is_object()) return "unknown";
  const auto name = model->find("name");
  return name == model->end() || !name->is_string() ? "unknown"
                                                    : printable(name->get<std::string>());
}

void check_same_conditions(const fs::path& folder, const ordered_json& earlier,
                           const ordered_json& run) {
  const ordered_json &before = earlier.at("conditions"), &now = run.at("conditions");
  for (const auto& [key, value] : now.items()) {
    const auto held = before.find(key);
    if (held != before.end() && *held == value) continue;
    if (key == "model") {  // its value is a fingerprint
      user_error("{} holds a run of another model ({}; this one is of {}): give another --out",
                 folder.string(), model_of(earlier), model_of(run));
    }
    user_error("{} holds a run with {} {}, this one has {}: give another --out", folder.string(),
               key, held == before.end() ? "unknown" : held->dump(), value.dump());
  }
  for (const auto& [key, value] : before.items()) {
    if (now.contains(key)) continue;
    user_error("{} holds a run with {} {}, this one has none: give another --out", folder.string(),
               key, value.dump());
  }
}

/// Whether two tasks have the same value for the key, or neither has it.
bool agree(const ordered_json& a, const ordered_json& b, const char* key) {
  const ordered_json none;
  return a.value(key, none) == b.value(key, none);
}

/// Tasks of the same name must have the same scoring rule and user files. The description of the
/// source may change, because the records' hashes detect changed texts.
void check_same_task(const fs::path& folder, const ordered_json& before, const ordered_json& now) {
  if (!agree(before, now, "rule")) {
    user_error("{} holds a run of {} with another rule of scoring, {}: give another --out",
               folder.string(), now.at("name").dump(),
               printable(before.value("rule", ordered_json()).dump()));
  }
  if (agree(before, now, "contents")) return;
  const bool cases = now.value("name", "").starts_with("jsonl:");
  user_error("{} holds a run of {} with other {}: give another --out", folder.string(),
             now.at("name").dump(),
             cases ? "contents of the file" : "essays, or none (--data names their folder)");
}

void check_same_tasks(const fs::path& folder, const ordered_json& before, const ordered_json& now) {
  for (const auto& task : now) {
    for (const auto& earlier : before) {
      if (earlier.is_object() && agree(earlier, task, "name")) {
        check_same_task(folder, earlier, task);
      }
    }
  }
}

/// Methods by name with their fingerprints, this run's before those of earlier ones.
ordered_json merged_methods(const fs::path& folder, const ordered_json& before, ordered_json now) {
  for (const auto& [method, settings] : before.items()) {
    if (now.value(method, settings) != settings) {
      user_error(
          "{} holds a run of {} with other settings: the model's profile or a file that it names "
          "has changed; give another --out",
          folder.string(), method);
    }
    now[method] = settings;
  }
  return now;
}

/// `held` followed by the new elements of `more`.
ordered_json merged_list(ordered_json held, const ordered_json& more) {
  for (const auto& item : more) {
    const bool known = std::any_of(held.begin(), held.end(), [&](const ordered_json& h) {
      if (!item.is_object() || !h.is_object()) return h == item;
      return h.value("name", ordered_json()) == item.value("name", ordered_json());
    });
    if (!known) held.push_back(item);
  }
  return held;
}

/// All commands that have contributed, in order. Earlier versions stored only the last one.
ordered_json commands_of(const ordered_json& run) {
  if (run.contains("commands")) return run["commands"];
  ordered_json commands = ordered_json::array();
  if (const std::string last = run.value("command", ""); !last.empty()) commands.push_back(last);
  return commands;
}

/// "c1d3045, 2c7ab6b": the builds of the program that have contributed, in order.
std::string merged_builds(const std::string& held, const std::string& now) {
  for (size_t begin = 0; begin <= held.size();) {
    const size_t end = std::min(held.find(", ", begin), held.size());
    if (held.substr(begin, end - begin) == now) return held;
    begin = end + 2;
  }
  return held + ", " + now;
}

std::string builds_of(const ordered_json& run) { return run.value("build", "unknown"); }

/// Merges the requests of two runs into `both`, the first one's part before the other's.
void put_together(const ordered_json& first, const ordered_json& second, ordered_json& both) {
  const ordered_json empty = ordered_json::array();
  for (const char* key : {"tasks", "methods", "lengths"}) {
    both[key] = merged_list(first.value(key, empty), second.at(key));
  }
  if (first.contains("samples")) {
    both["samples"] = std::max(first["samples"].get<int64_t>(), second["samples"].get<int64_t>());
  }
  if (first.value("openings", "") != second.at("openings").get<std::string>())
    both["openings"] = "both";
}

/// Merges this run's request with the contents of the folder's run.json.
ordered_json merged_run(const ordered_json& held, const ordered_json& run, ordered_json settings) {
  ordered_json merged = run;
  merged["settings"] = std::move(settings);
  const auto profiles = held.find("profile_settings");
  if (profiles != held.end() && profiles->is_object()) {
    for (const auto& [method, text] : profiles->items()) {
      ordered_json& all = merged["profile_settings"];
      if (!all.contains(method)) all[method] = text;
    }
  }
  put_together(held, run, merged);
  const ordered_json commands = merged_list(commands_of(held), commands_of(run));
  if (!commands.empty()) merged["commands"] = commands;
  if (held.contains("build") || run.contains("build")) {
    merged["build"] = merged_builds(builds_of(held), builds_of(run));
  }
  if (held.contains("started")) merged["started"] = held["started"];
  const ordered_json asked = asked_by(run);
  merged["unfinished"] = asked;
  if (held.contains("unfinished")) put_together(asked, held["unfinished"], merged["unfinished"]);
  return merged;
}

/// The folder's run.json, with the types of its values checked.
ordered_json held_run(const fs::path& folder) {
  const fs::path path = folder / kFile;
  ordered_json held = ordered_json::parse(read_json_file(path).dump());
  check_kinds(path, held);
  return held;
}

}  // namespace

void make_run_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) user_error("--out {}: cannot be made: {}", folder.string(), error.message());
}

bool has_begun(const fs::path& folder) {
  if (is_there(folder / kFile)) return true;
  // An empty file remains from a run that ended before its first line, or serves as the folder's
  // lock.
  std::error_code error;
  const uintmax_t bytes = fs::file_size(folder / "samples.jsonl", error);
  if (!error && bytes > 0) {
    user_error("--out {}: holds samples.jsonl without run.json", folder.string());
  }
  return false;
}

nlohmann::ordered_json continued_run(const fs::path& folder, const nlohmann::ordered_json& run) {
  const ordered_json held = held_run(folder);
  check_same_conditions(folder, held, run);
  check_same_tasks(folder, held.value("tasks", ordered_json::array()), run.at("tasks"));
  ordered_json settings =
      merged_methods(folder, held.value("settings", ordered_json::object()), run.at("settings"));
  return merged_run(held, run, std::move(settings));
}

std::string other_builds(const fs::path& folder, const nlohmann::ordered_json& run) {
  if (!run.contains("build")) return "";
  const std::string held = builds_of(held_run(folder));
  return merged_builds(held, builds_of(run)) == held ? "" : held;
}

void write_run(const fs::path& folder, nlohmann::ordered_json run) {
  if (const ordered_json commands = commands_of(run); !commands.empty()) {
    run["commands"] = commands;
  }
  replace_file(folder / kFile,
               run.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

nlohmann::ordered_json asked_by(const nlohmann::ordered_json& run) {
  ordered_json tasks = ordered_json::array();
  for (const auto& task : run.at("tasks")) tasks.push_back(task.at("name"));
  return {{"tasks", tasks},
          {"methods", run.at("methods")},
          {"lengths", run.at("lengths")},
          {"samples", run.at("samples")},
          {"openings", run.at("openings")}};
}

void finish_run(const fs::path& folder) {
  ordered_json run = held_run(folder);
  run.erase("unfinished");
  write_run(folder, std::move(run));
}

}  // namespace longhaul
