#include "cli/constraint_flags.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "base/regular_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr size_t kMostConstraintBytes = 1 << 20;

/// The text itself if it has this mark, otherwise that of a file.
std::string text_or_file(const char* flag, const std::string& value, std::string_view mark) {
  if (!is_file(value) && value.find(mark) != std::string::npos) return value;
  if (flag == std::string_view("--json-schema") && value == "json")
    return "{}";  // ollama's --format
  try {
    return read_regular_file(value, kMostConstraintBytes);
  } catch (const UserError& error) {
    user_error("{}: {}", flag, error.what());
  }
}

grammar::Grammar compiled(const char* flag, const std::string& text, grammar::GrammarKind kind) {
  try {
    return grammar::Grammar::compile(text, kind);
  } catch (const UserError& error) {
    user_error("{}: {}", flag, one_line(error.what()));
  }
}

}  // namespace

void ConstraintFlags::add_to(CLI::App& app) {
  const std::string group = "Reply";
  app.add_option("--json-schema", json_schema_,
                 "The reply is JSON of this schema: a file, or the schema itself; '{}': any JSON")
      ->type_name("FILE|TEXT")
      ->group(group);
  app.add_option("--grammar", grammar_, "The reply matches this grammar, in llama.cpp's GBNF")
      ->type_name("FILE|TEXT")
      ->group(group);
}

void ConstraintFlags::settle() {
  if (!json_schema_.empty() && !grammar_.empty()) {
    user_error("--grammar: does not go with --json-schema");
  }
  if (!json_schema_.empty()) {
    compiled_ = compiled("--json-schema", text_or_file("--json-schema", json_schema_, "{"),
                         grammar::GrammarKind::kJsonSchema);
  } else if (!grammar_.empty()) {
    compiled_ = compiled("--grammar", text_or_file("--grammar", grammar_, "::="),
                         grammar::GrammarKind::kGbnf);
  }
}

std::optional<grammar::Constraint> ConstraintFlags::constraint(const Tokenizer& tokenizer) const {
  if (!compiled_) return {};
  return grammar::Constraint(*compiled_, grammar::TokenTrie::of(tokenizer));
}

}  // namespace longhaul
