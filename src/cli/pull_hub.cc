#include "cli/pull_hub.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/paths.h"
#include "base/saturated_sum.h"
#include "base/units.h"
#include "cli/interrupt.h"
#include "cli/pull_folder.h"
#include "cli/pull_record.h"
#include "cli/status_line.h"
#include "engine/model_names.h"
#include "format/checkpoint.h"
#include "hub/choose_files.h"
#include "hub/download.h"
#include "hub/http.h"
#include "hub/repository.h"
#include "text/printable.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

/// A file to download, and its target within the cache folder.
struct PlannedFile {
  HubFile file;
  std::string url;
  fs::path target;
};

struct PullPlan {
  PullRecord record;
  std::vector<PlannedFile> files;
  std::string token;
  std::string what;  ///< description for messages
};

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// A name that can be a file's, is no path and can be shown in a line.
bool is_plain_name(const std::string& name) {
  return !name.empty() && !name.starts_with(".") && name.find('/') == std::string::npos &&
         one_line(name) == name;
}

void check_name(const std::string& name) {
  if (is_plain_name(name)) return;
  user_error("--as {}: no name for a model", printable(name));
}

/// The file's name without its extension; for a split set without the numbers.
std::string name_of_gguf(const std::string& path) {
  std::string name = base_name(path);
  if (name.ends_with(".gguf")) name.resize(name.size() - 5);
  const size_t shard = name.rfind("-00001-of-");
  return shard == std::string::npos ? name : name.substr(0, shard);
}

/// A text of the hub's in one line of ours.
std::string shown(const std::string& text) {
  constexpr size_t kMost = 200;
  return one_line(text.size() <= kMost ? text : text.substr(0, kMost) + "...");
}

/// Shards are placed in a separate folder and keep their names, by which they find each other.
PullPlan plan_repository(const PullRequest& request, const CancelFlag* cancel) {
  const HubRepository repository = ask_hub(request.reference.repository, cancel);
  const ChosenFiles chosen = choose_files(repository, request.reference.choice);
  PullPlan plan;
  plan.token = hub_token();
  plan.record = {"", repository.name, repository.commit, "", repository.licence, {}, ""};
  std::string& name = plan.record.name;
  name = !request.name.empty() ? request.name
         : chosen.folder       ? base_name(repository.name)
                               : name_of_gguf(chosen.files.front().path);
  const bool single = !chosen.folder && chosen.files.size() == 1;
  for (const HubFile& file : chosen.files) {
    const fs::path target = single          ? fs::path(name + ".gguf")
                            : chosen.folder ? fs::path(name) / file.path
                                            : fs::path(".shards") / name / base_name(file.path);
    plan.files.push_back({file, file_url(repository, file), target});
    plan.record.files.push_back(file.path);
  }
  plan.record.path = (chosen.folder ? fs::path(name) : plan.files.front().target).string();
  plan.what = fmt::format("{}: {}, {}, licence: {}", repository.name,
                          chosen.files.size() == 1
                              ? base_name(chosen.files.front().path)
                              : counted(static_cast<int64_t>(chosen.files.size()), "file"),
                          format_bytes(static_cast<size_t>(chosen.bytes())),
                          repository.licence.empty() ? "not named" : shown(repository.licence));
  return plan;
}

/// The server's description of a file before it is downloaded.
HubFile ask_server(const std::string& url, const CancelFlag* cancel) {
  const HttpResponse r =
      http_get({.url = url, .cancel = cancel}, [](const HttpResponse&, auto) { return false; });
  if (!r.problem.empty() && !r.refused_by_sink) user_error("{}: {}", url, r.problem);
  if (r.status != 200) user_error("{}: {}", url, status_text(r.status));
  HubFile file{base_name(url.substr(0, url.find_first_of("?#"))), -1, ""};
  if (const auto length = r.headers.find("content-length"); length != r.headers.end()) {
    if (!parse_number(length->second, file.bytes) || file.bytes < 0) file.bytes = -1;
  }
  return file;
}

PullPlan plan_url(const PullRequest& request, const CancelFlag* cancel) {
  PullPlan plan;
  const std::string& url = request.reference.url;
  const HubFile file = ask_server(url, cancel);
  if (!file.path.ends_with(".gguf"))
    user_error("{}: no GGUF file; for a Hugging Face model give hf:OWNER/REPO", url);
  const std::string name = request.name.empty() ? name_of_gguf(file.path) : request.name;
  if (!is_plain_name(name)) user_error("{}: give it a name with --as", url);
  plan.record = {name, "", "", url, "", {file.path}, name + ".gguf"};
  plan.files.push_back({file, url, name + ".gguf"});
  plan.what =
      fmt::format("{}{}; no checksum is published", url,
                  file.bytes < 0 ? "" : ", " + format_bytes(static_cast<size_t>(file.bytes)));
  return plan;
}

/// Refuses to overwrite a model of that name from another source.
void refuse_other(const fs::path& folder, const PullPlan& plan) {
  const fs::path target = folder / plan.record.path;
  if (!is_there(target)) return;
  const auto record = read_record(folder, plan.record.name);
  const bool same = record && record->repository == plan.record.repository &&
                    record->url == plan.record.url && record->files == plan.record.files;
  if (same) return;
  user_error(
      "{} is here already{}: give the new one another name with --as NAME", target.string(),
      record ? " and is of " + (record->url.empty() ? record->repository : record->url) : "");
}

/// One line while a file arrives; nothing on a file or a pipe.
class Progress {
 public:
  Progress(bool enabled, int64_t all) : line_(enabled), all_(all) {}

  void begin_file(int64_t before) { before_ = before; }
  void update(int64_t done) {
    const int64_t now = saturated_sum(before_, done);
    if (first_ < 0) first_ = now;
    if (!line_.due(now == all_)) return;
    const double seconds = line_.seconds();
    const double rate = seconds > 0 ? static_cast<double>(now - first_) / seconds : 0;
    std::string text = "fetching " + format_bytes(static_cast<size_t>(now));
    if (all_ > 0) {
      text += fmt::format(" of {} ({:.0f} %)", format_bytes(static_cast<size_t>(all_)),
                          std::floor(100 * static_cast<double>(now) / static_cast<double>(all_)));
    }
    text += fmt::format(", {}/s", format_bytes(static_cast<size_t>(rate)));
    if (all_ > 0 && rate > 0) {
      text += fmt::format(", {} left", format_seconds(static_cast<double>(all_ - now) / rate));
    }
    line_.draw(text);
  }
  void tell(const std::string& text) {
    line_.clear();
    fmt::print(stderr, "{}\n", text);
  }
  void clear() { line_.clear(); }

 private:
  StatusLine line_;
  int64_t all_, before_ = 0, first_ = -1;
};

/// Returns false if stopped.
bool fetch(const PullPlan& plan, const fs::path& folder, bool progress, bool again,
           Interrupt& interrupt) {
  int64_t all = 0, arrived = 0, before = 0;
  for (const PlannedFile& f : plan.files) {
    all = f.file.bytes < 0 || all < 0 ? -1 : saturated_sum(all, f.file.bytes);
    arrived = saturated_sum(arrived, bytes_arrived(folder / f.target));
  }
  check_space(folder, static_cast<size_t>(std::max<int64_t>(0, all - arrived)));
  if (arrived > 0)
    fmt::print(stderr, "{} of it were fetched before\n",
               format_bytes(static_cast<size_t>(arrived)));
  Progress line(progress, all);
  for (const PlannedFile& f : plan.files) {
    const fs::path target = folder / f.target;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (error) user_error("{}: {}", target.parent_path().string(), error.message());
    const bool here = is_file(target) && !again && f.file.bytes >= 0 &&
                      fs::file_size(target, error) == static_cast<uintmax_t>(f.file.bytes);
    line.begin_file(before);
    before = saturated_sum(before, std::max<int64_t>(0, f.file.bytes));
    if (here && plan.files.size() > 1) continue;  // part of a set that was begun before
    const Download what{.url = f.url,
                        .token = plan.token,
                        .target = target,
                        .bytes = f.file.bytes,
                        .sha256 = f.file.sha256,
                        .cancel = &interrupt.flag(),
                        .progress = [&](int64_t done, int64_t) { line.update(done); },
                        .retrying =
                            [&](const std::string& problem) {
                              line.tell(fmt::format("{}; trying again", problem));
                            }};
    if (download(what) == DownloadEnd::kCancelled) {
      line.tell("stopped; the same command continues");
      return false;
    }
  }
  line.clear();
  return true;
}

PulledModel described(const PullRecord& record, const fs::path& folder, bool fetched) {
  PulledModel model{record.name, folder / record.path, 0, fetched, false};
  model.bytes = static_cast<int64_t>(open_checkpoint(model.path).total_bytes());
  return model;
}

}  // namespace

std::optional<fs::path> find_pulled(const ModelReference& reference) {
  for (const fs::path& folder : {model_cache_folder(), system_model_folder()}) {
    if (!is_folder(folder)) continue;
    if (const auto record = find_record(folder, reference)) return folder / record->path;
  }
  return std::nullopt;
}

PulledModel pull_from_hub(const PullRequest& request) {
  if (!request.name.empty()) check_name(request.name);
  const fs::path folder = make_cache_folder(request.system);
  if (!request.again && request.name.empty()) {
    if (const auto record = find_record(folder, request.reference))
      return described(*record, folder, false);
  }
  Interrupt interrupt;
  PullPlan plan;
  try {
    plan = request.reference.url.empty() ? plan_repository(request, &interrupt.flag())
                                         : plan_url(request, &interrupt.flag());
  } catch (const UserError&) {
    if (!interrupt.requested()) throw;
    return {request.name, {}, 0, false, true};
  }
  if (!request.again) {
    const auto record = read_record(folder, plan.record.name);
    if (record && record->commit == plan.record.commit && record->files == plan.record.files &&
        record->url == plan.record.url && is_there(folder / record->path))
      return described(*record, folder, false);
  }
  refuse_other(folder, plan);
  std::error_code ignored;
  fmt::print(stderr, "{}\n{} free in {}\n", one_line(plan.what),
             format_bytes(fs::space(folder, ignored).available), one_line(folder.string()));
  if (!fetch(plan, folder, request.progress && isatty(STDERR_FILENO) != 0, request.again,
             interrupt))
    return {plan.record.name, folder / plan.record.path, 0, false, true};
  PulledModel model;
  try {
    model = described(plan.record, folder, true);
  } catch (const UserError&) {  // may be an error page with status 200
    if (!plan.record.url.empty()) fs::remove(folder / plan.record.path, ignored);
    throw;
  }
  keep_record(folder, plan.record);
  return model;
}

}  // namespace longhaul
