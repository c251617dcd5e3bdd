#pragma once
// Replaces references to documents in chat requests by the texts of the documents.

#include <string>
#include <vector>

#include "serve/api/request.h"
#include "serve/documents/question_documents.h"

namespace longhaul::serve {

/// Reads the member "documents" of `body`, a list of document ids, and inserts the texts of the
/// documents before the content of the first user message, as in `longhaul run -f`. Sets the member
/// "leading_bytes" of this message to the length of the inserted texts. Replaces content parts that
/// name files by text parts. If the request has no system message, the system message of the first
/// document is added. If the request names no attention method, the method of the document is used.
/// Throws ApiError if the request is invalid. Throws DocumentIsConverted if a document is still
/// being converted.
std::vector<QuestionDocument> take_documents(const ServedModel& model, const std::string& key,
                                             Json& body);

struct Conversation;
/// Does the same for a request of another API: reads the member "documents" of `body`, and inserts
/// the texts into `conversation`. If the request uses the attention method of a document, the
/// method is written to `body`.
std::vector<QuestionDocument> take_documents(const ServedModel& model, const std::string& key,
                                             Json& body, Conversation& conversation);

/// Adds the documents to the request, and their gates (PrefillGate) to its job. The job then waits
/// until the documents have been prefilled.
void use_documents(std::vector<QuestionDocument> documents, GenerationRequest& request, Job& job);

/// Removes "leading_bytes" from the messages. Returns the content of the last user message without
/// the inserted texts.
std::string question_after_documents(Json& messages);

}  // namespace longhaul::serve
