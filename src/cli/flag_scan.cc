#include "cli/flag_scan.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace longhaul {
namespace {

/// Parses "--name=rest".
FlagWithValue long_flag(const CLI::App& app, const std::string& argument) {
  const size_t equals = std::min(argument.find('='), argument.size());
  const std::string name = argument.substr(0, equals);
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr || option->get_items_expected_max() == 0) return {};
  return {option, name, argument.substr(std::min(equals + 1, argument.size()))};
}

/// Parses "-nrest", and "-qnrest" if q takes no value.
FlagWithValue short_flag(const CLI::App& app, const std::string& argument) {
  for (size_t i = 1; i < argument.size(); ++i) {
    const std::string name{'-', argument[i]};
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) return {};
    if (option->get_items_expected_max() > 0) return {option, name, argument.substr(i + 1)};
  }
  return {};
}

}  // namespace

FlagWithValue flag_with_value(const CLI::App& app, const std::string& argument) {
  if (argument.size() < 2 || argument[0] != '-') return {};
  return argument[1] == '-' ? long_flag(app, argument) : short_flag(app, argument);
}

}  // namespace longhaul
