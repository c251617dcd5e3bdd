#include "cli/json_output.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "text/utf8.h"

namespace longhaul {
namespace {

/// `indent`: spaces of each level; -1: all on one line.
std::string escaped_json(const nlohmann::ordered_json& value, int indent) {
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  const std::string text = value.dump(indent, ' ', false, replace) + "\n";
  std::string out;
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Sequence next = read_utf8(std::string_view(text).substr(at));
    const uint32_t c = next.code_point;
    if ((c >= 0x7f && c < 0xa0) || changes_layout(c)) {
      out += text.substr(copied, at - copied) + fmt::format("\\u{:04x}", c);
      copied = at + next.bytes;
    }
    at += next.bytes;
  }
  return out + text.substr(copied);
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& value) { return escaped_json(value, 2); }

void print_json(const nlohmann::ordered_json& value) {
  std::fputs(json_text(value).c_str(), stdout);
}

void print_json_line(const nlohmann::ordered_json& value) {
  std::fputs(escaped_json(value, -1).c_str(), stdout);
}

}  // namespace longhaul
