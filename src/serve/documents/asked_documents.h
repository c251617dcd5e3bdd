#pragma once
// Reads references to documents in the bodies of chat requests.

#include <string>
#include <vector>

#include "serve/api/request.h"
#include "serve/documents/question_documents.h"

namespace longhaul::serve {

/// Resolves the member "documents" and the file parts of messages. The texts of the documents are
/// inserted before the content of the first user message, as in `longhaul run -f`. The member
/// "leading_bytes" of this message is set to their length. File parts become text parts. If there
/// is no system message, that of the first document is added. If the request names no attention
/// method, the document's method is used. Throws ApiError, and DocumentIsConverted.
std::vector<QuestionDocument> take_documents(const ServedModel& model, const std::string& key,
                                             Json& body);

struct Conversation;
/// Resolves "documents" in the body of a request of another API, and inserts the texts into its
/// conversation. If an attention method comes from a document, it is written to the body.
std::vector<QuestionDocument> take_documents(const ServedModel& model, const std::string& key,
                                             Json& body, Conversation& conversation);

/// Adds the documents to the request, and their gates to its job.
void use_documents(std::vector<QuestionDocument> documents, GenerationRequest& request, Job& job);

/// Removes "leading_bytes" from the messages. Returns the content of the last user message without
/// the documents before it.
std::string question_after_documents(Json& messages);

}  // namespace longhaul::serve
