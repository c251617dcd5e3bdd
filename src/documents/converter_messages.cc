#include "documents/converter_messages.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "text/utf8.h"

namespace longhaul {
namespace {

using MessageJson = nlohmann::json;

constexpr size_t kMostHeadings = 100'000, kMostWarnings = 100, kLongestLine = 4096;
constexpr size_t kMostHeaderBytes = size_t{64} << 20;

std::string dumped(const MessageJson& json) {
  return json.dump(-1, ' ', false, MessageJson::error_handler_t::replace);
}

std::string text_member(const MessageJson& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string short_line(std::string text) {
  if (text.size() > kLongestLine) text.resize(kLongestLine);
  return text;
}

std::string valid_utf8(std::string_view text) {
  std::string storage;
  size_t broken = 0;
  return std::string(repair_utf8(text, storage, &broken));
}

void read_headings(const MessageJson& list, Document& document) {
  if (!list.is_array()) return;
  for (const MessageJson& item : list) {
    if (document.headings.size() == kMostHeadings) return;
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_unsigned()) continue;
    const auto offset = item[0].get<size_t>();
    if (offset > document.text.size() || !item[1].is_string()) continue;
    document.headings.push_back({offset, short_line(item[1].get<std::string>())});
  }
}

void read_warnings(const MessageJson& list, std::vector<std::string>& warnings) {
  if (!list.is_array()) return;
  for (const MessageJson& item : list) {
    if (warnings.size() == kMostWarnings) return;
    if (item.is_string()) warnings.push_back(short_line(item.get<std::string>()));
  }
}

}  // namespace

std::string ConverterRequest::encoded() const {
  return dumped({{"name", name}, {"pages", pages}, {"text_bytes", text_bytes}, {"reason", reason}});
}

bool ConverterRequest::decode(std::string_view bytes) {
  const MessageJson json = MessageJson::parse(bytes, nullptr, false);
  if (!json.is_object()) return false;
  name = text_member(json, "name");
  pages = text_member(json, "pages");
  reason = text_member(json, "reason");
  text_bytes = 0;
  const auto most = json.find("text_bytes");
  if (most != json.end() && most->is_number_unsigned()) text_bytes = most->get<size_t>();
  return true;
}

std::string ConverterAnswer::encoded() const {
  MessageJson header;
  header["error"] = error;
  header["problem"] = static_cast<int>(problem);
  header["made"] = document.made;
  header["in_paragraphs"] = document.in_paragraphs;
  header["warnings"] = warnings;
  header["headings"] = MessageJson::array();
  for (const Heading& heading : document.headings) {
    header["headings"].push_back({heading.offset, heading.text});
  }
  const std::string text = dumped(header);
  const uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + text + document.text;
}

bool ConverterAnswer::decode(std::string_view bytes) {
  uint64_t length = 0;
  if (bytes.size() < sizeof length) return false;
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  if (length > bytes.size() || length > kMostHeaderBytes) return false;
  const MessageJson json = MessageJson::parse(bytes.substr(0, length), nullptr, false);
  if (!json.is_object()) return false;
  bytes.remove_prefix(length);
  error = short_line(text_member(json, "error"));
  const auto kind = json.find("problem");
  constexpr auto kLast = static_cast<size_t>(DocumentError::Problem::kUnreadable);
  const bool known = kind != json.end() && kind->is_number_unsigned();
  problem =
      static_cast<DocumentError::Problem>(known ? std::min(kind->get<size_t>(), kLast) : kLast);
  document.made = short_line(text_member(json, "made"));
  const auto paragraphs = json.find("in_paragraphs");
  document.in_paragraphs =
      paragraphs != json.end() && paragraphs->is_boolean() && paragraphs->get<bool>();
  document.text = valid_utf8(bytes);
  if (const auto list = json.find("headings"); list != json.end()) read_headings(*list, document);
  if (const auto list = json.find("warnings"); list != json.end()) read_warnings(*list, warnings);
  return true;
}

}  // namespace longhaul
