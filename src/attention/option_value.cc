#include "attention/option_value.h"

#include <cmath>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/units.h"

namespace longhaul {
namespace {

struct Site {
  std::string_view method;
  const OptionInfo& option;
  std::string_view value;

  [[noreturn]] void refuse(const std::string& want) const {
    user_error("--attention {}: {}={}: must be {}", method, option.key, value, want);
  }
  [[noreturn]] void refuse_number(std::string_view kind) const {
    refuse(fmt::format("{}{}", option.takes_auto() ? "auto or " : "", kind));
  }
};

/// A bound as `longhaul methods` prints it.
std::string shown_bound(const OptionInfo& option, double bound) {
  return option.kind == OptionKind::kInteger ? with_commas(static_cast<int64_t>(bound))
                                             : fmt::format("{}", bound);
}

void check_range(const Site& site, double value) {
  const OptionInfo& option = site.option;
  if (option.least == 0 && option.most == 0) return;
  if (value >= option.least && value <= option.most) return;
  site.refuse(fmt::format("{}from {} to {}{}{}", option.takes_auto() ? "auto or " : "",
                          shown_bound(option, option.least), shown_bound(option, option.most),
                          option.unit.empty() ? "" : " ", option.unit));
}

std::string integer(const Site& site) {
  int64_t number = 0;
  if (!parse_number(site.value, number)) site.refuse_number("a whole number");
  check_range(site, static_cast<double>(number));
  return fmt::format("{}", number);
}

std::string real(const Site& site) {
  double number = 0;
  if (!parse_number(site.value, number) || !std::isfinite(number)) site.refuse_number("a number");
  check_range(site, number);
  return fmt::format("{}", number);
}

std::string boolean(const Site& site) {
  for (const std::string_view yes : {"true", "on", "yes", "1"}) {
    if (site.value == yes) return "true";
  }
  for (const std::string_view no : {"false", "off", "no", "0"}) {
    if (site.value == no) return "false";
  }
  site.refuse("true or false");
}

std::string choice(const Site& site) {
  std::string all;
  for (std::string_view rest = site.option.choices; !rest.empty();) {
    const size_t bar = rest.find('|');
    const std::string_view one = rest.substr(0, bar);
    if (one == site.value) return std::string(one);
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
    all += fmt::format("{}{}", all.empty() ? "" : rest.empty() ? " or " : ", ", one);
  }
  site.refuse(all);
}

}  // namespace

std::string canonical_value(std::string_view method, const OptionInfo& option,
                            std::string_view value) {
  const Site site{method, option, value};
  if (option.takes_auto() && value == "auto") return std::string(value);
  switch (option.kind) {
    case OptionKind::kInteger:
      return integer(site);
    case OptionKind::kReal:
      return real(site);
    case OptionKind::kBool:
      return boolean(site);
    case OptionKind::kChoice:
      return choice(site);
    case OptionKind::kText:
    case OptionKind::kFile:
    case OptionKind::kOutputFile:
    case OptionKind::kMethodOptions:
      break;
  }
  return std::string(value);
}

}  // namespace longhaul
