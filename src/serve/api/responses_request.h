#pragma once
// A request of the Responses API, beside what all APIs have.

#include "serve/api/conversation.h"
#include "serve/api/responses_tools.h"

namespace longhaul::serve {

struct ResponsesRequest {
  ResponsesTools tools;
  Json fields;  ///< members of the request that the response repeats
  bool store = true;
  Json input;     ///< with `store`: the items, as the client may read them again
  Json messages;  ///< with `store`: the conversation without instructions
  std::string key, instructions;
  bool summary = false;  ///< reasoning is shown as a summary
};

/// The parts that POST /v1/responses/input_tokens and POST /v1/responses have in common.
struct ResponsesConversation {
  ResponsesRequest request;
  Conversation conversation;
  std::vector<std::string> warnings;
  std::vector<QuestionDocument> files;  ///< files in the input
};
ResponsesConversation read_responses_conversation(const ServedModel& model, const Json& body,
                                                  const std::string& key);
/// Members that read_responses_conversation() reads.
std::vector<std::string_view> responses_members();

}  // namespace longhaul::serve
