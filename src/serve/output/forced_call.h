#pragma once
// A reply that has to be a tool call: tool_choice "required", or one function.

#include <nlohmann/json.hpp>
#include <string>

#include "grammar/grammar.h"
#include "serve/output/reply_format.h"

namespace longhaul::serve {

struct ForcedCall {
  /// Ends the prompt, with control tokens. The reply's parser reads it first.
  std::string prompt_end;
  grammar::Grammar grammar;  ///< grammar of the reply
};

/// One call of the function `name`, or of any function if it is empty, in the model's own form. A
/// model without such a form (CallFamily::kNone) writes the JSON object of kBareJson. Tags
/// (kQwenCoder) have the required parameters only. UserError for an unknown function, a schema that
/// is not supported (with the function's name), and several functions with channels, because only
/// the prompt can hold their marks.
ForcedCall forced_call(const ReplyFormat& format, const nlohmann::ordered_json& tools,
                       const std::string& name);

}  // namespace longhaul::serve
