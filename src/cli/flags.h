#pragma once
// Adds flags to CLI11's parser. If a user gives a flag an invalid value, the error message has one
// line with the flag, the value and the permitted values.

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

/// If `text` is no integer in [least, most], returns a message such as "'abc' is no whole number
/// from 1 to 8". Otherwise returns an empty text.
std::string integer_problem(const std::string& text, int64_t least, int64_t most);
std::string real_problem(const std::string& text, double least, double most);

/// Adds a flag whose value is a number from `least` to `most`. If the flag is repeated, the last
/// value is used.
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
  // CLI11's own parser would read 010 as an octal number.
  const auto store = [&value](const std::string& text) { parse_number(text, value); };
  return app.add_option_function<std::string>(names, store, help)
      ->check(check)
      ->type_name(std::is_integral_v<T> ? "N" : "X")
      ->take_last()
      ->default_str(fmt::format("{}", value));
}

/// Adds a flag whose value is the path of a file or folder. An empty value is rejected, because it
/// usually comes from an unset variable of a shell script.
CLI::Option* add_path(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& help);

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& help);

/// Adds a flag whose value is one of `choices`. Case is ignored, and the value is stored in lower
/// case.
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& value,
                        std::vector<std::string> choices, const std::string& help);

/// Adds a flag whose value is a size, such as "512M" or "2.5GiB". `bytes` receives the size in
/// bytes.
CLI::Option* add_size(CLI::App& app, const std::string& names, size_t& bytes,
                      const std::string& help);

/// Adds a flag whose value is a list of numbers from `least` to `most`, such as "512,2048,8192".
CLI::Option* add_number_list(CLI::App& app, const std::string& names, std::vector<int64_t>& values,
                             int64_t least, int64_t most, const std::string& help);

}  // namespace longhaul
