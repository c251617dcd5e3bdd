#pragma once
// Supports tools for models whose chat template has no tools. Definitions, calls and results are
// written as texts of messages.

#include "serve/api/json_text.h"

namespace longhaul::serve {

/// Adds the definitions of tools, and the form that a call must have, to the system message.
void describe_tools(Json& messages, const Json& tools);

/// Replaces calls by their JSON text, and results by messages of the user.
void write_calls_as_texts(Json& messages);

}  // namespace longhaul::serve
