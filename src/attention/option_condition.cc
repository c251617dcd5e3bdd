#include "attention/option_condition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace longhaul {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view at) {
  std::vector<std::string_view> parts;
  for (size_t end = text.find(at); end != std::string_view::npos; end = text.find(at)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + at.size());
  }
  parts.push_back(text);
  return parts;
}

bool is_set(std::string_view value) { return !value.empty() && value != "auto"; }

OptionTerm parse_term(std::string_view text) {
  using Is = OptionTerm::Is;
  for (const auto& [word, is] : {std::pair(std::string_view("no "), Is::kNotSet),
                                 std::pair(std::string_view("one "), Is::kOneForAll)}) {
    if (text.substr(0, word.size()) == word) return {is, text.substr(word.size()), {}, text};
  }
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {Is::kSet, text, {}, text};
  const bool none = equals > 0 && text[equals - 1] == '!';
  return {none ? Is::kNotAmong : Is::kAmong, text.substr(0, equals - (none ? 1 : 0)),
          split(text.substr(equals + 1), "|"), text};
}

}  // namespace

bool OptionTerm::holds_for(std::string_view value) const {
  const bool among = std::find(values.begin(), values.end(), value) != values.end();
  switch (is) {
    case Is::kSet:
      return is_set(value);
    case Is::kNotSet:
      return !is_set(value);
    case Is::kOneForAll:
      return value.find('/') == std::string_view::npos;
    case Is::kAmong:
      return among;
    case Is::kNotAmong:
      break;
  }
  return !among;
}

std::vector<std::vector<OptionTerm>> parse_condition(std::string_view condition) {
  std::vector<std::vector<OptionTerm>> alternatives;
  if (condition.empty()) return alternatives;
  for (const std::string_view alternative : split(condition, " or ")) {
    alternatives.emplace_back();
    for (const std::string_view term : split(alternative, " and ")) {
      alternatives.back().push_back(parse_term(term));
    }
  }
  return alternatives;
}

std::optional<std::string> unmet(const OptionInfo& option, const OptionValues& values) {
  std::vector<std::string> settings;
  std::string_view missing;
  for (const auto& alternative : parse_condition(option.only_with)) {
    const auto failing =
        std::find_if(alternative.begin(), alternative.end(), [&](const OptionTerm& term) {
          const auto value = values(term.key);
          return value && !term.holds_for(*value);
        });
    if (failing == alternative.end()) return std::nullopt;
    if (failing->key == option.key) continue;  // "patterns has no effect with patterns=FILE"
    const std::string_view value = *values(failing->key);
    std::string setting = fmt::format("{}={}", failing->key, value);
    if (!is_set(value)) {
      if (missing.empty()) missing = failing->text;
    } else if (std::find(settings.begin(), settings.end(), setting) == settings.end()) {
      settings.push_back(std::move(setting));
    }
  }
  if (!settings.empty()) return fmt::format("with {}", fmt::join(settings, " and "));
  if (!missing.empty()) return fmt::format("without {}", missing);
  return std::nullopt;
}

}  // namespace longhaul
