#pragma once
// Grammars of tool calls, compiled once for each list of tools.

#include <optional>
#include <string>

#include "serve/api/conversation.h"
#include "serve/output/forced_call.h"

namespace longhaul::serve {

/// The call that tool_choice demands. Throws ApiError that names the tool.
ForcedCall demanded_call(const ReplyFormat& format, const Conversation& conversation);

/// Holds calls to the schemas of their functions from the mark that starts a call; the rest of the
/// reply is free. Empty for families whose calls have no mark of their own. A schema that is not
/// supported counts as one that allows every object.
std::optional<grammar::Constraint> call_constraint(const ServedModel& model,
                                                   const ReplyFormat& format, const Json& tools);

}  // namespace longhaul::serve
