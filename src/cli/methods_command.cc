// longhaul methods: every attention method with its options, or the details of one.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "attention/registry.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/table.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

/// "a|b|c"
std::string all_choices(const Option& o) { return fmt::format("{}", fmt::join(o.choices, "|")); }

std::string kind_text(const Option& o) {
  const std::string unit = o.unit.empty() ? "" : fmt::format(" {}", o.unit);
  const std::string_view otherwise = o.takes_auto() ? "auto or " : "";
  switch (o.kind) {
    case OptionKind::kInteger:
      return fmt::format("{}{} to {}{}", otherwise, with_commas(static_cast<int64_t>(o.least)),
                         with_commas(static_cast<int64_t>(o.most)), unit);
    case OptionKind::kReal:
      return fmt::format("{}{:g} to {:g}{}", otherwise, o.least, o.most, unit);
    case OptionKind::kBool:
      return "true|false";
    case OptionKind::kChoice:
      return all_choices(o);
    case OptionKind::kText:
      return "text";
    case OptionKind::kFile:
    case OptionKind::kOutputFile:
      return "file";
    case OptionKind::kPartOptions:
      return "KEY=VALUE+...";
  }
  return "";
}

std::string help_text(const Option& o) {
  return o.only_with.empty() ? std::string(o.help)
                             : fmt::format("{} (only with {})", o.help, o.only_with);
}

void print_methods() {
  for (const MethodInfo& method : attention_methods()) {
    fmt::print("{}: {}\n  use it for: {}\n", method.name, method.summary, method.when);
    if (!method.paper.empty()) fmt::print("  paper: {}\n", method.paper);
    const OptionSet set = method.describe();
    if (set.list.options().empty()) {
      fmt::print("  no options\n");
      continue;
    }
    Table table;
    for (const Option& o : set.list.options()) {
      table.add({fmt::format("{}={}", o.key, o.fallback), kind_text(o), help_text(o)});
    }
    std::fputs(table.text("    ").c_str(), stdout);
  }
}

/// Prints "key: text" with the text wrapped after the longest key.
void print_paragraph(const std::string& key, std::string_view text) {
  constexpr size_t kWidth = 84, kIndent = 10;
  std::string line = fmt::format("{:<{}}", key, kIndent);
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find(' ', i), text.size());
    const std::string_view word = text.substr(i, end - i);
    if (line.size() > kIndent && line.size() + 1 + word.size() > kWidth) {
      fmt::print("{}\n", line);
      line.assign(kIndent, ' ');
    }
    if (line.size() > kIndent) line += ' ';
    line += word;
    i = end + 1;
  }
  fmt::print("{}\n", line);
}

/// The method with its first option at its default, or with a placeholder if there is no default.
std::string example(const MethodInfo& method, const OptionList& options) {
  if (options.options().empty()) return std::string(method.name);
  const Option& first = options.options().front();
  return fmt::format("{}:{}={}", method.name, first.key,
                     first.fallback.empty() ? "FILE" : first.fallback);
}

void print_method(const MethodInfo& method) {
  const OptionSet set = method.describe();
  fmt::print("{}: {}\n\n", method.name, method.summary);
  if (!method.keeps.empty()) print_paragraph("keeps", method.keeps);
  print_paragraph("helps", method.when);
  if (!method.harms.empty()) print_paragraph("harms", method.harms);
  if (!set.list.needed().empty()) print_paragraph("needs", set.list.needed());
  if (!method.paper.empty()) print_paragraph("paper", method.paper);
  if (set.list.options().empty()) {
    fmt::print("options   none\n");
  } else {
    fmt::print("\noptions, with their defaults:\n");
    Table table;
    for (const Option& o : set.list.options()) {
      table.add({fmt::format("{}={}", o.key, o.fallback), kind_text(o)});
      table.add({"", help_text(o)});
    }
    std::fputs(table.text("  ").c_str(), stdout);
  }
  fmt::print("\n  longhaul run -m MODEL -f FILE -p QUESTION --attention {}\n",
             example(method, set.list));
}

const MethodInfo& method_named(const std::string& name) {
  std::vector<std::string_view> names;
  for (const MethodInfo& method : attention_methods()) {
    if (method.name == name) return method;
    names.push_back(method.name);
  }
  user_error("there is no attention method {}{}; 'longhaul methods' lists them", printable(name),
             nearest_name_hint(name, names));
}

ordered_json methods_json(std::span<const MethodInfo> chosen) {
  ordered_json methods = ordered_json::array();
  for (const MethodInfo& method : chosen) {
    const OptionSet set = method.describe();
    ordered_json options = ordered_json::array();
    for (const Option& o : set.list.options()) {
      options.push_back({{"key", o.key},
                         {"default", o.fallback},
                         {"unit", o.unit},
                         {"values", kind_text(o)},
                         {"help", o.help},
                         {"only_with", o.only_with}});
    }
    methods.push_back({{"name", method.name},
                       {"summary", method.summary},
                       {"when", method.when},
                       {"keeps", method.keeps},
                       {"harms", method.harms},
                       {"needs", set.list.needed()},
                       {"paper", method.paper},
                       {"options", options}});
  }
  return methods;
}

}  // namespace

Command add_methods_command(CLI::App& program) {
  struct Flags {
    std::string name;
    bool json = false;
  };
  CLI::App* app = program.add_subcommand("methods", "The attention methods and their options");
  auto flags = std::make_shared<Flags>();
  app->add_option("NAME", flags->name, "Explain this one")->type_name("");
  app->add_flag("--json", flags->json, "A JSON array on standard output");
  app->footer("Examples:\n  longhaul methods\n  longhaul methods snapkv");
  return {app, [flags] {
            const MethodInfo* one = flags->name.empty() ? nullptr : &method_named(flags->name);
            if (flags->json) {
              print_json(methods_json(one != nullptr ? std::span(one, 1) : attention_methods()));
            } else if (one != nullptr) {
              print_method(*one);
            } else {
              print_methods();
            }
            return kExitOk;
          }};
}

}  // namespace longhaul
