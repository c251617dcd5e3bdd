#pragma once
// Defines the flags --json-schema and --grammar, which constrain the form of a reply.

#include <optional>
#include <string>

#include "cli/cli11_names.h"
#include "grammar/constraint.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

struct ConstraintFlags {
  void add_to(CLI::App& app);
  /// Reads the schema or grammar that the flags name, and compiles it. Call it before the sandbox
  /// is entered, because it may read a file. Throws a UserError that names the flag if the file or
  /// its contents are invalid.
  void settle();
  /// Returns the constraint for replies with this tokenizer, or nothing if no flag is given.
  std::optional<grammar::Constraint> constraint(const Tokenizer& tokenizer) const;
  bool given() const { return !json_schema_.empty() || !grammar_.empty(); }

 private:
  std::string json_schema_, grammar_;
  std::optional<grammar::Grammar> compiled_;
};

}  // namespace longhaul
