#pragma once
// Computes the prefix of a document: the tokens with which every prompt about the document begins.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "serve/served_model.h"

namespace longhaul::serve {

struct DocumentPrefix {
  std::vector<int32_t> tokens;
  int64_t text_begin = 0;  ///< index of the first token of the document's text
};

/// Thrown for a prompt that the server could not process even without other requests.
class RefusedPrompt : public std::runtime_error {
 public:
  explicit RefusedPrompt(JobError reason)
      : std::runtime_error(reason.message), error(std::move(reason)) {}

  JobError error;
};

/// Returns the tokens of the system message (if any) and of the text. Every chat prompt about the
/// document begins with them. Throws ApiError if the model has no chat template.
DocumentPrefix document_prefix(const ServedModel& model, const std::string& system,
                               const std::string& text);

/// Joins the texts of documents to the text that is inserted before the question.
std::string joined_documents(const std::vector<std::string>& texts);

/// Checks a prompt of `tokens` tokens. Returns an error if it is too long for the context, or if
/// its keys and values do not fit in memory even without other requests. In the second case, the
/// error names offered attention methods with which the prompt would fit.
std::optional<JobError> prompt_refusal(const ServedModel& model, const MethodSpec& attention,
                                       int64_t tokens);

}  // namespace longhaul::serve
