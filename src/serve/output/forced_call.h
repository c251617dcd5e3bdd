#pragma once
// Creates the grammar of a reply that must be a tool call. tool_choice "required" and tool_choice
// with a function demand this.

#include <nlohmann/json.hpp>
#include <string>

#include "grammar/grammar.h"
#include "serve/output/reply_format.h"

namespace longhaul::serve {

struct ForcedCall {
  /// Text at the end of the prompt, with control tokens. The parser of the reply reads it first.
  std::string prompt_end;
  grammar::Grammar grammar;  ///< grammar of the reply
};

/// Returns the grammar of one call of the function `name`, in the model's own form. If `name` is
/// empty, any function may be called. For a model without such a form (CallFamily::kNone), the call
/// is the JSON object of kBareJson. Tagged calls (kQwenCoder) have only the required parameters.
/// Throws UserError for an unknown function and for an unsupported schema, with the name of the
/// function. Also throws UserError if several functions may be called and the model writes its
/// replies in channels. The text that opens the channel of a call contains the function's name and
/// must be at the end of the prompt.
ForcedCall forced_call(const ReplyFormat& format, const nlohmann::ordered_json& tools,
                       const std::string& name);

}  // namespace longhaul::serve
