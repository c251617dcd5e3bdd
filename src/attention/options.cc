#include "attention/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/units.h"

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

template <class Number>
Number number_of(const std::string& text) {
  Number number{};
  const bool whole = parse_number(text, number);
  LH_ASSERT(whole);
  return number;
}

/// What `canonical` refuses a value with.
struct Refusal {
  std::string_view method;
  const Option& option;
  std::string_view value;

  [[noreturn]] void must_be(const std::string& what) const {
    user_error("--attention {}: {}={}: must be {}{}", method, option.key, value,
               option.takes_auto() ? "auto or " : "", what);
  }

  void check_range(double number) const {
    if (number >= option.least && number <= option.most) return;
    const auto bound = [&](double x) {  // as `longhaul methods` prints it
      return option.kind == OptionKind::kInteger ? with_commas(static_cast<int64_t>(x))
                                                 : fmt::format("{}", x);
    };
    must_be(fmt::format("from {} to {}{}{}", bound(option.least), bound(option.most),
                        option.unit.empty() ? "" : " ", option.unit));
  }
};

std::string canonical_integer(const Refusal& at) {
  int64_t number = 0;
  if (!parse_number(at.value, number)) at.must_be("a whole number");
  at.check_range(static_cast<double>(number));
  return fmt::format("{}", number);
}

std::string canonical_real(const Refusal& at) {
  double number = 0;
  if (!parse_number(at.value, number) || !std::isfinite(number)) at.must_be("a number");
  at.check_range(number);
  return fmt::format("{}", number);
}

std::string canonical_bool(const Refusal& at) {
  for (const std::string_view yes : {"true", "on", "yes", "1"}) {
    if (at.value == yes) return "true";
  }
  for (const std::string_view no : {"false", "off", "no", "0"}) {
    if (at.value == no) return "false";
  }
  at.must_be("true or false");
}

std::string canonical_choice(const Refusal& at) {
  const auto& all = at.option.choices;
  if (std::find(all.begin(), all.end(), at.value) != all.end()) return std::string(at.value);
  std::string names;
  for (size_t i = 0; i < all.size(); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : i + 1 == all.size() ? " or " : ", ", all[i]);
  }
  at.must_be(names);
}

}  // namespace

Option& Option::only(std::function<bool()> holds, std::string_view words, std::string_view by) {
  holds_ = std::move(holds);
  only_with = words;
  by_ = split(by, '|');
  return *this;
}

Option& Option::added_later() {
  later_ = true;
  return *this;
}

std::string Option::canonical(std::string_view method, std::string_view value) const {
  const Refusal at{method, *this, value};
  if (takes_auto() && value == "auto") return std::string(value);
  switch (kind) {
    case OptionKind::kInteger:
      return canonical_integer(at);
    case OptionKind::kReal:
      return canonical_real(at);
    case OptionKind::kBool:
      return canonical_bool(at);
    case OptionKind::kChoice:
      return canonical_choice(at);
    case OptionKind::kText:
    case OptionKind::kFile:
    case OptionKind::kOutputFile:
    case OptionKind::kMethodOptions:
      break;
  }
  return std::string(value);
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

Option& OptionList::integer(int64_t& member, std::string_view key, int64_t least, int64_t most,
                            std::string_view unit, std::string_view help) {
  Option& option = add(key, OptionKind::kInteger, fmt::format("{}", member), help);
  option.unit = unit;
  option.least = static_cast<double>(least);
  option.most = static_cast<double>(most);
  option.set_ = [&member](const std::string& text) { member = number_of<int64_t>(text); };
  return option;
}

Option& OptionList::integer(std::optional<int64_t>& member, std::string_view key, int64_t least,
                            int64_t most, std::string_view unit, std::string_view help) {
  int64_t none = 0;
  Option& option = integer(none, key, least, most, unit, help);
  option.fallback = "auto";
  option.set_ = [&member](const std::string& text) {
    member = text == "auto" ? std::nullopt : std::optional(number_of<int64_t>(text));
  };
  return option;
}

Option& OptionList::real(double& member, std::string_view key, double least, double most,
                         std::string_view unit, std::string_view help) {
  Option& option = add(key, OptionKind::kReal, fmt::format("{}", member), help);
  option.unit = unit;
  option.least = least;
  option.most = most;
  option.set_ = [&member](const std::string& text) { member = number_of<double>(text); };
  return option;
}

Option& OptionList::real(std::optional<double>& member, std::string_view key, double least,
                         double most, std::string_view unit, std::string_view help) {
  double none = 0;
  Option& option = real(none, key, least, most, unit, help);
  option.fallback = "auto";
  option.set_ = [&member](const std::string& text) {
    member = text == "auto" ? std::nullopt : std::optional(number_of<double>(text));
  };
  return option;
}

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

Option& OptionList::file(std::string& member, std::string_view key, std::string_view help) {
  Option& option = text(member, key, "", help);
  option.kind = OptionKind::kFile;
  return option;
}

Option& OptionList::output_file(std::string& member, std::string_view key, std::string_view help) {
  Option& option = text(member, key, "", help);
  option.kind = OptionKind::kOutputFile;
  return option;
}

Option& OptionList::method_options(std::string& member, std::string_view key,
                                   std::string_view method_key, std::string_view help) {
  Option& option = text(member, key, "", help);
  option.kind = OptionKind::kMethodOptions;
  option.method_key = method_key;
  return option;
}

Option& OptionList::choice_at(std::string_view key, std::initializer_list<std::string_view> names,
                              size_t now, std::function<void(size_t)> set, std::string_view help) {
  LH_ASSERT(now < names.size());
  Option& option = add(key, OptionKind::kChoice, std::string(names.begin()[now]), help);
  option.choices = names;
  option.set_ = [all = std::vector<std::string_view>(names), set](const std::string& text) {
    set(static_cast<size_t>(std::find(all.begin(), all.end(), text) - all.begin()));
  };
  return option;
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
