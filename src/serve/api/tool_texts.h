#pragma once
// Supports tools for models whose chat template cannot render tools. Definitions, calls and results
// of tools are written into the texts of messages instead.

#include "serve/api/json_text.h"

namespace longhaul::serve {

/// Adds the definitions of tools, and the form that a call must have, to the system message.
void describe_tools(Json& messages, const Json& tools);

/// Replaces the calls in the assistant's messages by their JSON text, and the messages with results
/// by messages of the user.
void write_calls_as_texts(Json& messages);

}  // namespace longhaul::serve
