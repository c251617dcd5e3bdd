#include "cli/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/nearest_name.h"
#include "base/parse_number.h"
#include "base/units.h"
#include "text/printable.h"

namespace longhaul {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string integer_problem(const std::string& text, int64_t least, int64_t most) {
  int64_t value = 0;
  if (parse_number(text, value) && value >= least && value <= most) return "";
  if (most == std::numeric_limits<int64_t>::max()) {
    return fmt::format("{} is no whole number of at least {}", printable(text), with_commas(least));
  }
  return fmt::format("{} is no whole number from {} to {}", printable(text), with_commas(least),
                     with_commas(most));
}

std::string real_problem(const std::string& text, double least, double most) {
  double value = 0;
  if (parse_number(text, value) && std::isfinite(value) && value >= least && value <= most)
    return "";
  return fmt::format("{} is no number from {:g} to {:g}", printable(text), least, most);
}

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& help) {
  CLI::Option* option = app.add_option(names, value, help)->type_name(type)->take_last();
  if (!value.empty()) option->capture_default_str();
  return option;
}

CLI::Option* add_path(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& help) {
  return add_text(app, names, value, type, help)->check([](const std::string& path) {
    return std::string(path.empty() ? "the name is empty" : "");
  });
}

CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& value,
                        std::vector<std::string> choices, const std::string& help) {
  const std::string type = fmt::format("{}", fmt::join(choices, "|"));
  const auto check = [choices = std::move(choices)](const std::string& text) -> std::string {
    if (std::find(choices.begin(), choices.end(), lower(text)) != choices.end()) return "";
    return fmt::format("{} is none of {}{}", printable(text), fmt::join(choices, ", "),
                       nearest_name_hint(lower(text), choices));
  };
  return app.add_option(names, value, help)
      ->check(check)
      ->transform([](std::string text) { return lower(std::move(text)); })
      ->type_name(type)
      ->take_last()
      ->capture_default_str();
}

CLI::Option* add_size(CLI::App& app, const std::string& names, size_t& bytes,
                      const std::string& help) {
  const auto store = [&bytes](const std::string& text) { bytes = parse_bytes(text).value_or(0); };
  const auto check = [](const std::string& text) -> std::string {
    const auto parsed = parse_bytes(text);
    if (parsed && *parsed > 0) return "";
    return fmt::format("{} is no size such as 512M or 2.5G", printable(text));
  };
  return app.add_option_function<std::string>(names, store, help)
      ->check(check)
      ->type_name("SIZE")
      ->take_last();
}

CLI::Option* add_number_list(CLI::App& app, const std::string& names, std::vector<int64_t>& values,
                             int64_t least, int64_t most, const std::string& help) {
  const auto check = [least, most](const std::string& text) -> std::string {
    std::set<int64_t> seen;
    for (const std::string& part : split_commas(text)) {
      if (std::string problem = integer_problem(part, least, most); !problem.empty())
        return problem;
      int64_t value = 0;
      parse_number(part, value);
      if (!seen.insert(value).second) return part + " is given twice";
    }
    return "";
  };
  const auto store = [&values](const std::string& text) {
    values.clear();
    for (const std::string& part : split_commas(text)) {
      int64_t value = 0;
      parse_number(part, value);
      values.push_back(value);
    }
  };
  return app.add_option_function<std::string>(names, store, help)
      ->check(check)
      ->type_name("N,...")
      ->default_str(fmt::format("{}", fmt::join(values, ",")))
      ->take_last();
}

}  // namespace longhaul
