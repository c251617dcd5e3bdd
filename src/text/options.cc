#include "text/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parse_number.h"
#include "text/canonical_value.h"

namespace longhaul {
namespace {

bool is_set(std::string_view value) { return !value.empty() && value != "auto"; }

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

void read_number(const std::string& text, auto& number) {
  const bool whole = parse_number(text, number);
  LH_ASSERT(whole);
}

template <class Number>
void read_number(const std::string& text, std::optional<Number>& number) {
  number.reset();
  if (text != "auto") read_number(text, number.emplace());
}

template <class Number>
std::string text_of(const Number& number) {
  if constexpr (std::is_arithmetic_v<Number>) return fmt::format("{}", number);
  return "auto";
}

}  // namespace

bool Option::names_file(std::string_view value) const {
  return kind == OptionKind::kFile && !value.empty() &&
         std::find(not_files.begin(), not_files.end(), value) == not_files.end();
}

Option& Option::only(std::function<bool()> holds, std::string_view words, std::string_view by) {
  holds_ = std::move(holds);
  only_with = words;
  by_ = split(by, '|');
  return *this;
}

std::string Option::canonical(std::string_view whose, std::string_view value) const {
  if (takes_auto() && value == "auto") return std::string(value);
  try {
    if (kind == OptionKind::kInteger) return canonical_integer(value, {least, most, unit});
    if (kind == OptionKind::kReal) return canonical_real(value, {least, most, unit});
    if (kind == OptionKind::kBool) return canonical_flag(value);
    if (kind == OptionKind::kChoice) return canonical_choice(value, choices);
    return std::string(value);
  } catch (const UserError& must_be) {
    user_error("{}: {}={}: must be {}{}", whose, key, value, takes_auto() ? "auto or " : "",
               must_be.what());
  }
}

std::optional<std::string> Option::idle(const OptionValues& values) const {
  if (!holds_ || holds_()) return std::nullopt;
  std::vector<std::string> settings;
  for (const std::string_view other : by_) {
    const std::string& value = values.find(other)->second;
    if (other != key && is_set(value)) settings.push_back(fmt::format("{}={}", other, value));
  }
  if (settings.empty()) return fmt::format("without {}", only_with);
  return fmt::format("with {}", fmt::join(settings, " and "));
}

bool Option::decided_by(const std::vector<std::string>& keys) const {
  return std::all_of(by_.begin(), by_.end(), [&](std::string_view other) {
    return std::find(keys.begin(), keys.end(), other) != keys.end();
  });
}

Option& OptionList::add(std::string_view key, OptionKind kind, std::string fallback,
                        std::string_view help) {
  Option& option = options_.emplace_back();
  option.key = key;
  option.kind = kind;
  option.fallback = std::move(fallback);
  option.help = help;
  return option;
}

template <class Number>
Option& OptionList::number(Number& member, OptionKind kind, std::string_view key, Range range,
                           std::string_view unit, std::string_view help) {
  Option& option = add(key, kind, text_of(member), help);
  option.unit = unit;
  option.least = range.least;
  option.most = range.most;
  option.set_ = [&member](const std::string& text) { read_number(text, member); };
  return option;
}

template Option& OptionList::number(int64_t&, OptionKind, std::string_view, Range, std::string_view,
                                    std::string_view);
template Option& OptionList::number(double&, OptionKind, std::string_view, Range, std::string_view,
                                    std::string_view);
template Option& OptionList::number(std::optional<int64_t>&, OptionKind, std::string_view, Range,
                                    std::string_view, std::string_view);
template Option& OptionList::number(std::optional<double>&, OptionKind, std::string_view, Range,
                                    std::string_view, std::string_view);

Option& OptionList::flag(bool& member, std::string_view key, std::string_view help) {
  Option& option = add(key, OptionKind::kBool, member ? "true" : "false", help);
  option.set_ = [&member](const std::string& text) { member = text == "true"; };
  return option;
}

Option& OptionList::text(std::string& member, std::string_view key, std::string_view unit,
                         std::string_view help) {
  Option& option = add(key, OptionKind::kText, member, help);
  option.unit = unit;
  option.set_ = [&member](const std::string& value) { member = value; };
  return option;
}

Option& OptionList::file(std::string& member, std::string_view key, std::string_view help,
                         std::initializer_list<std::string_view> words) {
  Option& option = text(member, key, "", help).as(OptionKind::kFile);
  option.not_files = words;
  return option;
}

Option& OptionList::output_file(std::string& member, std::string_view key, std::string_view help) {
  return text(member, key, "", help).as(OptionKind::kOutputFile);
}

Option& OptionList::part_options(std::string& member, std::string_view key,
                                 std::string_view part_key, std::string_view help) {
  Option& option = text(member, key, "", help).as(OptionKind::kPartOptions);
  option.part_key = part_key;
  return option;
}

Option& OptionList::choice_at(std::string_view key, std::initializer_list<std::string_view> names,
                              size_t now, std::function<void(size_t)> set, std::string_view help) {
  LH_ASSERT(now < names.size());
  Option& option = add(key, OptionKind::kChoice, std::string(names.begin()[now]), help);
  option.choices = names;
  option.set_ = [all = std::vector<std::string_view>(names),
                 choose = std::move(set)](const std::string& text) {
    choose(static_cast<size_t>(std::find(all.begin(), all.end(), text) - all.begin()));
  };
  return option;
}

Option& OptionList::choice(std::string_view& member, std::string_view key,
                           std::initializer_list<std::string_view> names, std::string_view help) {
  const auto now = std::find(names.begin(), names.end(), member) - names.begin();
  const auto set = [&member, all = std::vector(names)](size_t at) { member = all[at]; };
  return choice_at(key, names, static_cast<size_t>(now), set, help);
}

void OptionList::needs(std::function<bool()> holds, std::string_view words) {
  has_needed_ = std::move(holds);
  needed_ = words;
}

const Option* OptionList::find(std::string_view key) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const Option& option) { return option.key == key; });
  return found == options_.end() ? nullptr : &*found;
}

void OptionList::set(const OptionValues& values) const {
  for (const Option& option : options_) {
    const auto found = values.find(option.key);
    option.set_(found == values.end() ? option.fallback : found->second);
  }
}

std::vector<std::string_view> split_values(std::string_view text) { return split(text, '/'); }

}  // namespace longhaul
