#include "hub/repository.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/http.h"
#include "hub/model_reference.h"
#include "text/json_text.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::json;

constexpr size_t kLargestAnswer = 16 << 20;
constexpr int kMostPages = 50;
constexpr size_t kMostFiles = 100'000;
constexpr uint64_t kMostBytes = uint64_t{1} << 62;  // most bytes of a file

bool is_hex(const std::string& text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Whether a path stays within its target folder and holds no control characters.
bool is_safe(const std::string& path) {
  if (path.empty() || path.front() == '/' || one_line(path) != path) return false;
  size_t begin = 0;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

json parse_answer(const std::string& name, const std::string& text) {
  constexpr int kDeepest = 64;
  try {
    return parse_json(text, kDeepest);
  } catch (const UserError& error) {
    user_error("{}: the hub's answer {}", name, error.what());
  }
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string licence_of(const json& about) {
  if (const auto card = about.find("cardData"); card != about.end() && card->is_object()) {
    if (std::string licence = text_of(*card, "license"); !licence.empty() && licence != "other")
      return licence;
    if (std::string licence = text_of(*card, "license_name"); !licence.empty()) return licence;
  }
  if (const auto tags = about.find("tags"); tags != about.end() && tags->is_array()) {
    for (const json& tag : *tags) {
      if (!tag.is_string()) continue;
      const auto text = tag.get<std::string>();
      if (text.starts_with("license:")) return text.substr(8);
    }
  }
  return "";
}

/// Adds the entry if it is a file.
void add_file(const std::string& name, const json& entry, std::vector<HubFile>& files) {
  if (!entry.is_object() || text_of(entry, "type") != "file") return;
  HubFile file{text_of(entry, "path"), 0, ""};
  const auto size = entry.find("size");
  if (!is_safe(file.path) || size == entry.end() || !size->is_number_integer()) {
    user_error("{}: the hub's list of files has an entry that cannot be used: {}", name,
               printable(file.path));
  }
  if (size->is_number_unsigned() && size->get<uint64_t>() > kMostBytes)
    user_error("{}: {} has {} bytes", name, printable(file.path), size->get<uint64_t>());
  file.bytes = size->get<int64_t>();
  if (const auto lfs = entry.find("lfs"); lfs != entry.end() && lfs->is_object()) {
    file.sha256 = text_of(*lfs, "oid");
    if (!is_hex(file.sha256, 64)) {
      user_error("{}: the hub names {} as SHA-256 of {}", name, printable(file.sha256),
                 printable(file.path));
    }
  }
  if (file.bytes < 0) user_error("{}: {} has {} bytes", name, printable(file.path), file.bytes);
  files.push_back(std::move(file));
}

std::string fetch_text(const std::string& what, const std::string& url, const CancelFlag* cancel,
                       std::string* next) {
  std::string text;
  const HttpResponse r =
      http_get_text({.url = url, .token = hub_token(), .cancel = cancel}, kLargestAnswer, text);
  if (r.cancelled) user_error("{}: stopped", what);
  if (r.refused_by_sink)
    user_error("{}: the hub's answer is longer than {} bytes", what, kLargestAnswer);
  if (!r.problem.empty()) {
    user_error(
        "{}: {}: {} (https_proxy and HF_ENDPOINT name another way; a file that was fetched "
        "elsewhere "
        "is given with -m FILE)",
        what, url, r.problem);
  }
  if (r.status != 200) user_error("{}: {}", what, status_text(r.status));
  if (next != nullptr) {
    const auto link = r.headers.find("link");
    *next = link == r.headers.end() ? "" : next_page(link->second);
  }
  return text;
}

}  // namespace

std::string hub_token() {
  const char* token = std::getenv("HF_TOKEN");
  return token == nullptr ? "" : token;
}

std::string status_text(long status) {
  switch (status) {
    case 401:
    case 403:
      return fmt::format(
          "not allowed ({}): there is no such repository, or it asks for a token (HF_TOKEN) of "
          "somebody who has accepted its terms",
          status);
    case 404:
      return "not there (404)";
    case 429:
      return "asked too often (429): try again later";
    default:
      return fmt::format("the server answers with status {}", status);
  }
}

std::string next_page(std::string_view link) {
  while (!link.empty()) {
    const size_t open = link.find('<'), close = link.find('>', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return "";
    const size_t end = std::min(link.find(',', close), link.size());
    if (link.substr(close, end - close).find("rel=\"next\"") != std::string_view::npos)
      return std::string(link.substr(open + 1, close - open - 1));
    link.remove_prefix(std::min(end + 1, link.size()));
  }
  return "";
}

HubRepository read_repository(const std::string& name, const std::string& about,
                              const std::vector<std::string>& lists) {
  const json model = parse_answer(name, about);
  if (!model.is_object()) user_error("{}: the hub's answer is no object", name);
  HubRepository repository{name, text_of(model, "sha"), licence_of(model), {}};
  if (!is_hex(repository.commit, 40)) {
    user_error("{}: the hub names {} as its commit", name, printable(repository.commit));
  }
  for (const std::string& text : lists) {
    const json list = parse_answer(name, text);
    if (!list.is_array()) user_error("{}: the hub's list of files is none", name);
    for (const json& entry : list) add_file(name, entry, repository.files);
    if (repository.files.size() > kMostFiles)
      user_error("{}: more than {} files", name, kMostFiles);
  }
  return repository;
}

HubRepository ask_hub(const std::string& repository, const CancelFlag* cancel) {
  const std::string api = hub_endpoint() + "/api/models/" + repository;
  const std::string about = fetch_text(repository, api, cancel, nullptr);
  const HubRepository known = read_repository(repository, about, {});
  std::vector<std::string> lists;
  std::string url = fmt::format("{}/tree/{}?recursive=true", api, known.commit);
  while (!url.empty()) {
    if (lists.size() == kMostPages) user_error("{}: its list of files does not end", repository);
    // A token must be sent only to the hub.
    if (!url.starts_with(hub_endpoint() + "/"))
      user_error("{}: its list of files goes on at {}", repository, printable(url));
    std::string next;
    lists.push_back(fetch_text(repository, url, cancel, &next));
    url = next;
  }
  return read_repository(repository, about, lists);
}

std::string file_url(const HubRepository& repository, const HubFile& file) {
  return fmt::format("{}/{}/resolve/{}/{}", hub_endpoint(), repository.name, repository.commit,
                     url_escape(file.path));
}

}  // namespace longhaul
