#pragma once
// Flags that constrain the form of a reply.

#include <optional>
#include <string>

#include "cli/cli11_names.h"
#include "grammar/constraint.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

struct ConstraintFlags {
  void add_to(CLI::App& app);
  /// Reads the files of the flags and compiles them. Call it before the sandbox is entered. Throws
  /// UserError that names the flag.
  void settle();
  /// Returns the constraint. The result is empty if no flag is given.
  std::optional<grammar::Constraint> constraint(const Tokenizer& tokenizer) const;
  bool given() const { return !json_schema_.empty() || !grammar_.empty(); }

 private:
  std::string json_schema_, grammar_;
  std::optional<grammar::Grammar> compiled_;
};

}  // namespace longhaul
