#pragma once
// Tools for models whose chat template knows none: definitions, calls and results become texts of
// messages.

#include "serve/api/json_text.h"

namespace longhaul::serve {

/// Adds the definitions of tools and the form of a call to the system message.
void describe_tools(Json& messages, const Json& tools);

/// Replaces calls by their JSON, and results by messages of the user.
void write_calls_as_texts(Json& messages);

}  // namespace longhaul::serve
