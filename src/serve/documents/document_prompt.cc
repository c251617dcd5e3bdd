#include "serve/documents/document_prompt.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "documents/documents.h"
#include "engine/prompt_tokens.h"
#include "serve/api/api_error.h"
#include "tokenizer/chat_request.h"

namespace longhaul::serve {
namespace {

/// The first token that is not completely before byte `place` of the tokens' text.
int64_t token_at(const Tokenizer& tokenizer, std::span<const int32_t> tokens, size_t place) {
  size_t bytes = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    bytes += tokenizer.piece(tokens[i]).size();
    if (bytes > place) return static_cast<int64_t>(i);
  }
  return std::ssize(tokens);
}

bool fits(const ServedModel& model, size_t bytes) {
  return model.port->fixed_bytes() + bytes <= model.memory_limit;
}

}  // namespace

std::string joined_documents(const std::vector<std::string>& texts) {
  return join_documents(texts, "");
}

DocumentPrefix document_prefix(const ServedModel& model, const std::string& system,
                               const std::string& text) {
  if (!model.chat) {
    throw ApiError(400, "invalid_request_error", "no_chat_template", model.chat_problem);
  }
  const std::string joined = joined_documents({text});
  PromptText last;
  const auto asking = [&](const std::string& question) {
    ChatRequest chat;
    chat.messages = nlohmann::ordered_json::array();
    if (!system.empty()) chat.messages.push_back({{"role", "system"}, {"content", system}});
    chat.messages.push_back({{"role", "user"}, {"content", joined + "\n\n" + question}});
    last = {model.chat->segments(chat), false};
    return last;
  };
  const Tokenizer& tokenizer = model.engine->tokenizer();
  DocumentPrefix prefix;
  prefix.tokens = tokens_before_question(tokenizer, asking);
  const size_t place = last.text().find(joined.substr(0, 256));
  if (place != std::string::npos) prefix.text_begin = token_at(tokenizer, prefix.tokens, place);
  return prefix;
}

std::optional<JobError> prompt_refusal(const ServedModel& model, const MethodSpec& attention,
                                       int64_t tokens) {
  if (model.context > 0 && tokens + 1 > model.context) {
    JobError error{
        400, "invalid_request_error", "context_length_exceeded",
        fmt::format("This model's maximum context length is {} tokens, but the prompt is "
                    "too long: the document has {}. It exceeds the available context "
                    "size.",
                    model.context, tokens)};
    error.prompt_tokens = tokens;
    error.context = model.context;
    return error;
  }
  const size_t bytes = model.port->most_bytes(attention, tokens, 0);
  if (fits(model, bytes)) return std::nullopt;
  JobError error{400, "invalid_request_error", "insufficient_memory"};
  error.needed = model.port->fixed_bytes() + bytes;
  error.limit = model.memory_limit;
  std::vector<MethodSpec> offers = model.offers;
  offers.push_back(model.session.attention);
  for (const MethodSpec& offer : offers) {
    const size_t need = model.port->most_bytes(offer, tokens, 0);
    if (fits(model, need)) error.fits.emplace_back(offer.text(), need);
  }
  error.message = fmt::format(
      "the document of {} tokens needs {} with {} attention, more than the "
      "limit of {}",
      with_commas(tokens), format_bytes(error.needed), attention.text(), format_bytes(error.limit));
  if (!error.fits.empty()) {
    error.message += fmt::format("; with {} attention it fits", error.fits.front().first);
  }
  return error;
}

}  // namespace longhaul::serve
