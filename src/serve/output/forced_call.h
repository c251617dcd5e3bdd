#pragma once
// Creates the grammar of a reply that must be a tool call. A request demands this by tool_choice
// "required" or by a function in tool_choice.

#include <nlohmann/json.hpp>
#include <string>

#include "grammar/grammar.h"
#include "serve/output/reply_format.h"

namespace longhaul::serve {

struct ForcedCall {
  /// Text that must be appended to the prompt, with the texts of control tokens. It begins the
  /// call. ReplyParser must read it before the reply.
  std::string prompt_end;
  grammar::Grammar grammar;  ///< grammar of the reply
};

/// Returns the grammar of one call of the function `name`, in the model's own form. If `name` is
/// empty, any function may be called. For a model without such a form (CallFamily::kNone), the call
/// is the JSON object of kBareJson. In calls with tags (kQwenCoder), the model can only write the
/// required parameters. Throws UserError that names the function if the function is unknown or its
/// schema is not supported. Also throws UserError if several functions may be called and the family
/// is kChannels. In this family the header of the channel, which must be appended to the prompt,
/// contains the name of the function.
ForcedCall forced_call(const ReplyFormat& format, const nlohmann::ordered_json& tools,
                       const std::string& name);

}  // namespace longhaul::serve
