#pragma once
// Flags with validated values: an error is one line with the flag, the value and the permitted
// values.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/parse_number.h"

namespace longhaul {

/// "a,,b" -> a, "", b.
std::vector<std::string> split_commas(const std::string& text);

/// "'abc' is no whole number from 1 to 8"; empty if `text` is a number in range.
std::string integer_problem(const std::string& text, int64_t least, int64_t most);
std::string real_problem(const std::string& text, double least, double most);

/// If the flag is repeated, the last value wins, as usual on command lines.
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
  // Differs from CLI11's number parser: 010 is ten.
  const auto store = [&value](const std::string& text) { parse_number(text, value); };
  return app.add_option_function<std::string>(names, store, help)
      ->check(check)
      ->type_name(std::is_integral_v<T> ? "N" : "X")
      ->take_last()
      ->default_str(fmt::format("{}", value));
}

/// A file or a folder. An empty value is refused, because a script's unset variable gives it.
CLI::Option* add_path(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& help);

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& help);

/// One of `choices`, ignoring case; stored in lower case.
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& value,
                        std::vector<std::string> choices, const std::string& help);

/// "512M", "2.5GiB"; stored as bytes.
CLI::Option* add_size(CLI::App& app, const std::string& names, size_t& bytes,
                      const std::string& help);

/// "512,2048,8192", with each number at least `least`.
CLI::Option* add_number_list(CLI::App& app, const std::string& names, std::vector<int64_t>& values,
                             int64_t least, int64_t most, const std::string& help);

}  // namespace longhaul
