#pragma once
// Input items of a Responses request as messages of a conversation.

#include <string>
#include <vector>

#include "serve/api/conversation.h"

namespace longhaul::serve {

/// Reads "input": a text, or items (message, reasoning, function_call, custom_tool_call and their
/// outputs). Items of other types are left out with a warning. `before`: messages of the
/// conversation that the request continues. Returns only the new messages. Throws ApiError that
/// names the item. Files that parts of the type input_file name are added to `files.found`.
struct InputFiles {
  DocumentLookup find;
  std::vector<QuestionDocument> found;
};
Json messages_of_input(const Json& input, const Json& before, std::vector<std::string>& warnings,
                       InputFiles& files);

/// The beginning of the conversation: instructions and the system messages at the start become one
/// message, because most templates accept only one.
Json with_instructions(const std::string& instructions, Json messages);

}  // namespace longhaul::serve
