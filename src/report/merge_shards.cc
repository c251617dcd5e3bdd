#include "report/merge_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/parse_number.h"
#include "base/paths.h"
#include "eval/run_settings.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

/// A value of run.json, or null.
const ordered_json& value_of(const ordered_json& object, const char* key) {
  static const ordered_json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

const ordered_json& conditions_of(const RunFolder& run) { return value_of(run.info, "conditions"); }

EvalShard shard_of(const RunFolder& run) {
  const ordered_json& shard = value_of(conditions_of(run), "shard");
  if (!shard.is_string()) {
    user_error("{}: is no shard of 'longhaul eval --shard', and a whole run is not merged",
               run.name);
  }
  try {
    return shard_from(shard.get<std::string>());
  } catch (const UserError&) {
    user_error("{}: run.json: shard {} is not of the form 1/4", run.name, printable(shard.dump()));
  }
}

void check_shard_finished(const RunFolder& run) {
  if (!run.torn && !run.info.contains("unfinished")) return;
  user_error("{}: shard {} is not finished; its command continues it", run.name,
             shard_of(run).text());
}

std::string build_of_run(const RunFolder& run) {
  const ordered_json& build = value_of(run.info, "build");
  return build.is_string() ? build.get<std::string>() : "unknown";
}

void check_same_shard_settings(const RunFolder& first, const RunFolder& run) {
  ordered_json before = conditions_of(first), now = conditions_of(run);
  for (const auto& [key, value] : now.items()) {
    if (key == "shard" || value_of(before, key.c_str()) == value) continue;
    if (key == "model") {
      user_error("{}: is a run of another model than {}", run.name, first.name);
    }
    user_error("{}: {} is {}, and {} in {}", run.name, key, value.dump(),
               value_of(before, key.c_str()).dump(), first.name);
  }
  for (const auto& [key, value] : before.items()) {
    if (now.contains(key)) continue;
    user_error("{}: {} is missing, and {} in {}", run.name, key, value.dump(), first.name);
  }
  const std::string build = build_of_run(first), own = build_of_run(run);
  if (build != own) {
    user_error("{}: was made by build {}, and {} by build {}", run.name, printable(own), first.name,
               printable(build));
  }
  if (own.find(", ") != std::string::npos) {
    user_error("{}: was made by several builds, {}", run.name, printable(own));
  }
  for (const auto& [method, settings] : value_of(run.info, "settings").items()) {
    const ordered_json& held = value_of(value_of(first.info, "settings"), method.c_str());
    if (held.is_null() || held == settings) continue;
    user_error("{}: {} has other settings than in {} (a profile or a file differs)", run.name,
               method, first.name);
  }
}

/// Tasks of the same name have the same rule and the same files.
void check_same_shard_tasks(const RunFolder& first, const RunFolder& run) {
  for (const ordered_json& task : value_of(run.info, "tasks")) {
    for (const ordered_json& held : value_of(first.info, "tasks")) {
      if (value_of(task, "name") != value_of(held, "name")) continue;
      for (const char* key : {"rule", "contents"}) {
        if (value_of(task, key) == value_of(held, key)) continue;
        user_error("{}: task {} has another {} than in {}", run.name, value_of(task, "name").dump(),
                   key == std::string_view("rule") ? "rule" : "file", first.name);
      }
    }
  }
}

/// Runs that were asked for the same are shards of one run, and each of these must be whole.
void check_all_shards(const std::vector<RunFolder>& runs) {
  std::map<std::string, std::map<int, const RunFolder*>> of_request;
  std::map<std::string, int> counts;
  for (const RunFolder& run : runs) {
    const EvalShard shard = shard_of(run);
    const std::string asked =
        ordered_json::array({value_of(run.info, "tasks"), value_of(run.info, "methods"),
                             value_of(run.info, "lengths"), value_of(run.info, "samples"),
                             value_of(run.info, "openings"), shard.count})
            .dump();
    const auto [at, is_new] = of_request[asked].emplace(shard.index, &run);
    if (!is_new) {
      user_error("{}: shard {} is also in {}", run.name, shard.text(), at->second->name);
    }
    counts[asked] = shard.count;
  }
  for (const auto& [asked, shards] : of_request) {
    for (int i = 0; i < counts[asked]; ++i) {
      if (shards.contains(i)) continue;
      user_error("shard {} is missing beside {} ({} of {} are given)",
                 EvalShard{i, counts[asked]}.text(), shards.begin()->second->name, shards.size(),
                 counts[asked]);
    }
  }
}

/// Appends to `held` the elements of `more` that it lacks. Tasks are compared by their names.
void add_new_elements(const ordered_json& more, ordered_json& held) {
  if (!held.is_array() || !more.is_array()) return;
  const auto name = [](const ordered_json& item) {
    return item.is_object() ? value_of(item, "name") : item;
  };
  for (const ordered_json& item : more) {
    const bool known = std::any_of(held.begin(), held.end(),
                                   [&](const ordered_json& h) { return name(h) == name(item); });
    if (!known) held.push_back(item);
  }
}

ordered_json merged_info(const std::vector<RunFolder>& runs) {
  ordered_json info = runs.front().info;
  ordered_json commands = ordered_json::array();
  for (const RunFolder& run : runs) {
    for (const char* key : {"tasks", "methods", "lengths"}) {
      if (info.contains(key)) add_new_elements(value_of(run.info, key), info[key]);
    }
    for (const auto& [method, settings] : value_of(run.info, "settings").items()) {
      info["settings"][method] = settings;
    }
    for (const std::string& command : commands_of(run)) commands.push_back(command);
  }
  info["conditions"].erase("shard");
  info["commands"] = std::move(commands);
  if (info["lengths"].is_array()) std::sort(info["lengths"].begin(), info["lengths"].end());
  return info;
}

/// Numbers of the names in a list of run.json, by name.
std::map<std::string, size_t> places_of(const ordered_json& list) {
  std::map<std::string, size_t> places;
  for (const ordered_json& item : list) {
    const ordered_json& name = item.is_object() ? value_of(item, "name") : item;
    if (name.is_string()) places.emplace(name.get<std::string>(), places.size());
  }
  return places;
}

void sort_records(const ordered_json& info, std::vector<Record>& records) {
  const auto tasks = places_of(value_of(info, "tasks"));
  const auto methods = places_of(value_of(info, "methods"));
  const auto place = [](const std::map<std::string, size_t>& places, const std::string& name) {
    const auto found = places.find(name);
    return found == places.end() ? places.size() : found->second;
  };
  const auto order = [&](const Record& r) {
    int64_t number = 0;
    if (!parse_number(r.id, number)) number = -1;
    return std::tuple(r.length, place(tasks, r.task), r.task, number, r.sample_id(), r.opening,
                      place(methods, r.method), r.method, r.position.value_or(0), r.id);
  };
  std::sort(records.begin(), records.end(),
            [&](const Record& a, const Record& b) { return order(a) < order(b); });
}

}  // namespace

bool is_shard(const RunFolder& run) { return value_of(conditions_of(run), "shard").is_string(); }

RunFolder merge_shards(std::vector<RunFolder> runs) {
  LH_ASSERT(!runs.empty());
  const RunFolder& first = runs.front();
  for (const RunFolder& run : runs) {
    shard_of(run);
    check_shard_finished(run);
    check_same_shard_settings(first, run);
    check_same_shard_tasks(first, run);
  }
  check_all_shards(runs);
  RunFolder merged;
  merged.info = merged_info(runs);
  merged.name = first.name;
  std::map<std::string, const RunFolder*> holder;
  for (const RunFolder& run : runs) {
    for (const Record& record : run.records) {
      const auto [at, is_new] = holder.emplace(record.key(), &run);
      if (!is_new) {
        user_error("{}: {}, sample {}, {} is also in {}", run.name, record.task, record.id,
                   record.method, at->second->name);
      }
      merged.records.push_back(record);
    }
  }
  sort_records(merged.info, merged.records);
  return merged;
}

void write_run_folder(const RunFolder& run, const std::filesystem::path& folder) {
  if (is_there(folder / "run.json") || is_there(folder / "samples.jsonl")) {
    user_error("--merge {}: holds a run already", folder.string());
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) user_error("--merge {}: cannot be made: {}", folder.string(), error.message());
  std::string lines;
  for (const Record& record : run.records) lines += to_json(record) + "\n";
  replace_file(folder / "samples.jsonl", lines);
  write_run(folder, run.info);
}

}  // namespace longhaul
