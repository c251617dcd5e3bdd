#pragma once
// The part of a prompt that all questions about a document share.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "serve/served_model.h"

namespace longhaul::serve {

struct DocumentPrefix {
  std::vector<int32_t> tokens;
  int64_t text_begin = 0;  ///< the first token of the text
};

/// A prompt that could not be read even alone.
class RefusedPrompt : public std::runtime_error {
 public:
  explicit RefusedPrompt(JobError reason)
      : std::runtime_error(reason.message), error(std::move(reason)) {}

  JobError error;
};

/// Tokens of the system message, if any, and the text, as every chat request with the document
/// renders them before its question. Throws ApiError if the model has no chat template.
DocumentPrefix document_prefix(const ServedModel& model, const std::string& system,
                               const std::string& text);

/// Joins the texts of documents as they stand before the question of the first message.
std::string joined_documents(const std::vector<std::string>& texts);

/// The reason why a prompt could not be read even alone: too long for the context, or too large for
/// the memory. The error names methods of the server that would fit.
std::optional<JobError> prompt_refusal(const ServedModel& model, const MethodSpec& attention,
                                       int64_t tokens);

}  // namespace longhaul::serve
