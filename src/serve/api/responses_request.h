#pragma once
// Defines the members of a Responses request that other APIs do not have.

#include "serve/api/conversation.h"
#include "serve/api/responses_tools.h"

namespace longhaul::serve {

struct ResponsesRequest {
  ResponsesTools tools;
  Json fields;  ///< members of the request that the response repeats
  bool store = true;
  Json input;     ///< if `store` is true: the items, which the client may read again
  Json messages;  ///< if `store` is true: the conversation without instructions
  std::string key, instructions;
  bool summary = false;  ///< whether reasoning is shown as a summary
};

/// The result of reading the conversation of a request. POST /v1/responses and POST
/// /v1/responses/input_tokens use it.
struct ResponsesConversation {
  ResponsesRequest request;
  Conversation conversation;
  std::vector<std::string> warnings;
  std::vector<QuestionDocument> files;  ///< files that the input refers to
};
ResponsesConversation read_responses_conversation(const ServedModel& model, const Json& body,
                                                  const std::string& key);
/// Returns the names of the members that read_responses_conversation() reads.
std::vector<std::string_view> responses_members();

}  // namespace longhaul::serve
