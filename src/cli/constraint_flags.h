#pragma once
// Flags for the form of a reply.

#include <optional>
#include <string>

#include "cli/cli11_names.h"
#include "grammar/constraint.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

struct ConstraintFlags {
  void add_to(CLI::App& app);
  /// Reads the files and compiles them; call it before the sandbox. UserError names the flag.
  void settle();
  /// Empty without a flag.
  std::optional<grammar::Constraint> constraint(const Tokenizer& tokenizer) const;
  bool given() const { return !json_schema_.empty() || !grammar_.empty(); }

 private:
  std::string json_schema_, grammar_;
  std::optional<grammar::Grammar> compiled_;
};

}  // namespace longhaul
