#include "serve/documents/question_documents.h"

#include "serve/api/api_error.h"

namespace longhaul::serve {

std::vector<QuestionDocument> question_documents(DocumentSource* source, const std::string& key,
                                                 const std::vector<std::string>& ids) {
  std::vector<QuestionDocument> documents;
  for (const std::string& id : ids) {
    if (source == nullptr) {
      throw ApiError(501, "not_supported_error", "not_supported", "this server has no documents");
    }
    const std::shared_ptr<ServedDocument> document = source->find(key, id);
    QuestionDocument found = source->look(*document);
    if (found.error) {
      throw ApiError(found.error->status, found.error->type, found.error->code,
                     found.error->message);
    }
    if (!found.text) throw DocumentIsConverted{document};
    documents.push_back(std::move(found));
  }
  return documents;
}

DocumentLookup lookup_of(DocumentSource* source, const std::string& key) {
  return [source, key](const std::string& id) {
    return std::move(question_documents(source, key, {id}).front());
  };
}

int64_t tokens_of_document(DocumentSource* source, const std::string& key, const std::string& id) {
  try {
    return question_documents(source, key, {id}).front().tokens;
  } catch (const DocumentIsConverted&) {
    throw ApiError(409, "invalid_request_error", "not_ready",
                   "the document is still being converted");
  }
}

}  // namespace longhaul::serve
