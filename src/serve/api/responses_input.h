#pragma once
// Converts the member "input" of a Responses request to messages of a conversation
// (serve/api/conversation.h).

#include <string>
#include <vector>

#include "serve/api/conversation.h"

namespace longhaul::serve {

/// A function that finds files by their ids, and the files that it has found for this request.
struct InputFiles {
  DocumentLookup find;
  std::vector<QuestionDocument> found;
};
/// Reads "input", which is a string or a list of items (message, reasoning, function_call,
/// custom_tool_call, and the outputs of calls). Items of other types are omitted with a warning.
/// `before` has the messages of the earlier conversation that the request continues. They are not
/// repeated in the result, but outputs of calls may refer to calls in them. Files in content parts
/// of the type input_file are added to `files.found`. Throws ApiError that names the item.
Json messages_of_input(const Json& input, const Json& before, std::vector<std::string>& warnings,
                       InputFiles& files);

/// Returns `messages` with `instructions` as a system message at the beginning. System messages at
/// the start of `messages` are joined with it, because most chat templates accept only one system
/// message.
Json with_instructions(const std::string& instructions, Json messages);

}  // namespace longhaul::serve
