#pragma once
// Adds flags whose values are validated. An error message is one line with the flag, the value and
// the permitted values.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/parse_number.h"

namespace longhaul {

/// Splits a text at commas: "a,,b" becomes "a", "" and "b".
std::vector<std::string> split_commas(const std::string& text);

/// Returns a message such as "'abc' is no whole number from 1 to 8". The result is empty if `text`
/// is a number in the range.
std::string integer_problem(const std::string& text, int64_t least, int64_t most);
std::string real_problem(const std::string& text, double least, double most);

/// Adds a flag with a number. If the flag is repeated, the last value is used, as usual on command
/// lines.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& names, T& value, T least, T most,
                        const std::string& help) {
  const auto check = [least, most](const std::string& text) {
    if constexpr (std::is_integral_v<T>) {
      return integer_problem(text, static_cast<int64_t>(least), static_cast<int64_t>(most));
    } else {
      return real_problem(text, static_cast<double>(least), static_cast<double>(most));
    }
  };
  // Unlike CLI11's parser of numbers, this one reads 010 as ten.
  const auto store = [&value](const std::string& text) { parse_number(text, value); };
  return app.add_option_function<std::string>(names, store, help)
      ->check(check)
      ->type_name(std::is_integral_v<T> ? "N" : "X")
      ->take_last()
      ->default_str(fmt::format("{}", value));
}

/// Adds a flag with the path of a file or folder. An empty value is rejected, because it usually
/// comes from an unset variable of a script.
CLI::Option* add_path(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& help);

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& help);

/// Adds a flag whose value is one of `choices`. Case is ignored, and the value is stored in lower
/// case.
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& value,
                        std::vector<std::string> choices, const std::string& help);

/// Adds a flag with a size, such as "512M" or "2.5GiB". The value is stored in bytes.
CLI::Option* add_size(CLI::App& app, const std::string& names, size_t& bytes,
                      const std::string& help);

/// Adds a flag with a list of numbers, such as "512,2048,8192".
CLI::Option* add_number_list(CLI::App& app, const std::string& names, std::vector<int64_t>& values,
                             int64_t least, int64_t most, const std::string& help);

}  // namespace longhaul
