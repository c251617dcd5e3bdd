// longhaul methods: every attention method with its options.

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "attention/registry.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/table.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

std::string kind_text(const OptionInfo& o) {
  const std::string unit = o.unit.empty() ? "" : fmt::format(" {}", o.unit);
  switch (o.kind) {
    case OptionKind::kInteger:
      return fmt::format("{} to {}{}", with_commas(static_cast<int64_t>(o.least)),
                         with_commas(static_cast<int64_t>(o.most)), unit);
    case OptionKind::kReal:
      return fmt::format("{:g} to {:g}{}", o.least, o.most, unit);
    case OptionKind::kBool:
      return "true|false";
    case OptionKind::kChoice:
      return std::string(o.choices);
    case OptionKind::kText:
      return "text";
  }
  return "";
}

void print_methods() {
  for (const MethodInfo& method : attention_methods()) {
    fmt::print("{}: {}\n  use it for: {}\n", method.name, method.summary, method.when);
    if (!method.paper.empty()) fmt::print("  paper: {}\n", method.paper);
    if (method.options.empty()) {
      fmt::print("  no options\n");
      continue;
    }
    Table table;
    for (const OptionInfo& o : method.options) {
      table.add({fmt::format("{}={}", o.key, o.fallback), kind_text(o), std::string(o.help)});
    }
    std::fputs(table.text("    ").c_str(), stdout);
  }
}

ordered_json methods_json() {
  ordered_json methods = ordered_json::array();
  for (const MethodInfo& method : attention_methods()) {
    ordered_json options = ordered_json::array();
    for (const OptionInfo& o : method.options) {
      options.push_back({{"key", o.key},
                         {"default", o.fallback},
                         {"unit", o.unit},
                         {"values", kind_text(o)},
                         {"help", o.help}});
    }
    methods.push_back({{"name", method.name},
                       {"summary", method.summary},
                       {"when", method.when},
                       {"paper", method.paper},
                       {"options", options}});
  }
  return methods;
}

}  // namespace

Command add_methods_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("methods", "The attention methods and their options");
  auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "A JSON array on standard output");
  app->footer("Example:\n  longhaul methods");
  return {app, [json] {
            if (*json) {
              print_json(methods_json());
            } else {
              print_methods();
            }
            return kExitOk;
          }};
}

}  // namespace longhaul
