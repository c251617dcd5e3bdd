#pragma once
// Converts input items of a Responses request to messages of a conversation.

#include <string>
#include <vector>

#include "serve/api/conversation.h"

namespace longhaul::serve {

/// Finds the files that the input names, and collects the files that were found.
struct InputFiles {
  DocumentLookup find;
  std::vector<QuestionDocument> found;
};
/// Reads "input", which is a string or a list of items (message, reasoning,
/// function_call, custom_tool_call, and the outputs of calls). Items of other types are omitted
/// with a warning. `before` has the messages of the conversation that the request continues.
/// Returns only the new messages. Files in parts of the type input_file are added to `files.found`.
/// Throws ApiError that names the item.
Json messages_of_input(const Json& input, const Json& before, std::vector<std::string>& warnings,
                       InputFiles& files);

/// Returns `messages` with `instructions` at the beginning. The instructions and the system
/// messages at the start become one message, because most chat templates accept only one.
Json with_instructions(const std::string& instructions, Json messages);

}  // namespace longhaul::serve
