#pragma once
// Creates the constraints of tool calls. They are compiled once for each list of tools.

#include <optional>
#include <string>

#include "serve/api/conversation.h"
#include "serve/api/kept_forms.h"
#include "serve/output/forced_call.h"

namespace longhaul::serve {

/// Returns the form of the call that tool_choice demands. Throws ApiError that names the tool.
KeptForm demanded_call(const ServedModel& model, const ReplyFormat& format,
                       const Conversation& conversation);

/// Returns a constraint for a reply that may contain calls. After a mark that starts a call, the
/// arguments must satisfy the schema of the function. The rest of the reply is not constrained. The
/// result is empty for model families whose calls have no start mark. An unsupported schema is
/// replaced by one that allows every object.
std::optional<grammar::Constraint> call_constraint(const ServedModel& model,
                                                   const ReplyFormat& format, const Json& tools);

}  // namespace longhaul::serve
