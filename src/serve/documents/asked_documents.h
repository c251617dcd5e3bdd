#pragma once
// Documents in the bodies of chat requests.

#include <string>
#include <vector>

#include "serve/api/request.h"
#include "serve/documents/question_documents.h"

namespace longhaul::serve {

/// Resolves "documents" and the file parts of messages. The texts of the documents are put before
/// the content of the first user message, as `longhaul run -f` does it, whose member
/// "leading_bytes" receives their length; file parts become text parts. Without a system message
/// that of the first document is added, and without an attention method its method. Throws
/// ApiError, and DocumentIsConverted.
std::vector<QuestionDocument> take_documents(const ServedModel& model, const std::string& key,
                                             Json& body);

struct Conversation;
/// Resolves "documents" in the body of another API, for its conversation. An attention method that
/// comes from a document is written to the body.
std::vector<QuestionDocument> take_documents(const ServedModel& model, const std::string& key,
                                             Json& body, Conversation& conversation);

/// Gives the documents to the request, and their gates to its job.
void use_documents(std::vector<QuestionDocument> documents, GenerationRequest& request, Job& job);

/// Removes "leading_bytes" from the messages. Returns the content of the last user message without
/// its leading documents.
std::string question_after_documents(Json& messages);

}  // namespace longhaul::serve
