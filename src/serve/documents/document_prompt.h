#pragma once
// Computes the prefix that all prompts about a document share.

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

/// Thrown for a prompt that could not be processed even if it were the only one.
class RefusedPrompt : public std::runtime_error {
 public:
  explicit RefusedPrompt(JobError reason)
      : std::runtime_error(reason.message), error(std::move(reason)) {}

  JobError error;
};

/// Returns the tokens of the system message (if any) and of the text. They are a prefix of every
/// chat prompt that asks about the document. Throws ApiError if the model has no chat template.
DocumentPrefix document_prefix(const ServedModel& model, const std::string& system,
                               const std::string& text);

/// Joins the texts of documents in the form in which they precede the question.
std::string joined_documents(const std::vector<std::string>& texts);

/// Returns the reason why a prompt could not be processed even if it were the only one: it is too
/// long for the context or too large for the memory. The error names methods of the server with
/// which the prompt would fit.
std::optional<JobError> prompt_refusal(const ServedModel& model, const MethodSpec& attention,
                                       int64_t tokens);

}  // namespace longhaul::serve
