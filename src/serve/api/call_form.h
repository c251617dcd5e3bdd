#pragma once
// Creates the grammars of tool calls. A grammar is compiled once for each list of tools.

#include <optional>
#include <string>

#include "serve/api/conversation.h"
#include "serve/output/forced_call.h"

namespace longhaul::serve {

/// Returns the call that tool_choice demands. Throws ApiError that names the tool.
ForcedCall demanded_call(const ReplyFormat& format, const Conversation& conversation);

/// Returns a constraint that applies from the mark that starts a call: the arguments must satisfy
/// the schema of the function. The rest of the reply is free. The result is empty for model
/// families whose calls have no start mark. An unsupported schema is replaced by one that allows
/// every object.
std::optional<grammar::Constraint> call_constraint(const ServedModel& model,
                                                   const ReplyFormat& format, const Json& tools);

}  // namespace longhaul::serve
