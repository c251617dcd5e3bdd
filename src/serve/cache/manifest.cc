#include "serve/cache/manifest.h"

#include <cctype>
#include <nlohmann/json.hpp>

namespace longhaul::serve {
namespace {

using ManifestJson = nlohmann::json;

constexpr int64_t kMostFileTokens = int64_t{1} << 40;
constexpr size_t kMostLegs = 1 << 20, kLongestLine = 16 << 20;

bool is_file_name(const std::string& name) {
  if (name.empty() || name.size() > 128 || name.front() == '.') return false;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    if (!plain) return false;
  }
  return true;
}

/// Throws nlohmann's exceptions, and std::out_of_range for values outside their range.
StoredFile file_of(const ManifestJson& line) {
  StoredFile file;
  file.name = line.at("file").get<std::string>();
  file.key = {line.at("scope").get<std::string>(), line.at("method").get<std::string>(),
              line.at("angles").get<int64_t>(), line.value("adapter", "")};
  file.count = line.at("tokens").get<int64_t>();
  file.seconds = line.at("seconds").get<double>();
  file.marked = line.at("marked").get<bool>();
  file.cold = line.at("cold").get<bool>();
  file.session = line.at("session").get<std::string>();
  file.pins = line.value("pins", std::vector<std::string>());
  file.parent = line.at("parent").get<std::string>();
  file.parent_tokens = line.at("parent_tokens").get<int64_t>();
  file.bytes = line.at("bytes").get<size_t>();
  file.fingerprint = line.at("fingerprint").get<uint64_t>();
  const ManifestJson& legs = line.at("legs");
  if (!legs.is_array() || legs.size() > kMostLegs) throw std::out_of_range("legs");
  int64_t end = 0;
  for (const ManifestJson& leg : legs) {
    file.legs.push_back({leg.at(0).get<int64_t>(), leg.at(1).get<bool>()});
    if (file.legs.back().end <= end) throw std::out_of_range("legs");
    end = file.legs.back().end;
  }
  const bool fits = file.count > 0 && file.count < kMostFileTokens && end == file.count &&
                    file.parent_tokens >= 0 && file.parent_tokens <= file.count &&
                    file.parent.empty() == (file.parent_tokens == 0) && file.seconds >= 0;
  if (!fits || !is_file_name(file.name) || (!file.parent.empty() && !is_file_name(file.parent))) {
    throw std::out_of_range("file");
  }
  return file;
}

}  // namespace

std::string added_line(const StoredFile& file) {
  ManifestJson legs = ManifestJson::array();
  for (const Leg& leg : file.legs) legs.push_back({leg.end, leg.decoded});
  ManifestJson line = {{"op", "add"},
                       {"file", file.name},
                       {"scope", file.key.scope},
                       {"method", file.key.method},
                       {"angles", file.key.angles},
                       {"tokens", file.count},
                       {"legs", std::move(legs)},
                       {"seconds", file.seconds},
                       {"marked", file.marked},
                       {"cold", file.cold},
                       {"session", file.session},
                       {"parent", file.parent},
                       {"parent_tokens", file.parent_tokens},
                       {"bytes", file.bytes},
                       {"fingerprint", file.fingerprint}};
  if (!file.pins.empty()) line["pins"] = file.pins;
  if (!file.key.adapter.empty()) line["adapter"] = file.key.adapter;
  return line.dump(-1, ' ', true, ManifestJson::error_handler_t::replace) + "\n";
}

std::string removed_line(const std::string& name) {
  return ManifestJson{{"op", "remove"}, {"file", name}}.dump() + "\n";
}

std::map<std::string, StoredFile> read_manifest_lines(std::string_view text, int& unreadable) {
  std::map<std::string, StoredFile> files;
  unreadable = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool whole = end < text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    try {
      if (!whole || line.size() > kLongestLine) throw std::out_of_range("line");
      const ManifestJson json = ManifestJson::parse(line);
      const auto op = json.at("op").get<std::string>();
      if (op == "remove") {
        files.erase(json.at("file").get<std::string>());
      } else if (op == "add") {
        StoredFile file = file_of(json);
        files[file.name] = std::move(file);
      } else {
        throw std::out_of_range("op");
      }
    } catch (const std::exception&) {
      ++unreadable;
    }
  }
  return files;
}

}  // namespace longhaul::serve
