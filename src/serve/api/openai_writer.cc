// Replies in the form of OpenAI's Completions API, and the choice of writers.

#include "serve/api/openai_events.h"
#include "serve/api/writers.h"
#include "text/utf8.h"

namespace longhaul::serve {

std::string token_text(const Tokenizer& tokenizer, int32_t id) {
  std::string storage;
  size_t replaced = 0;
  return std::string(repair_utf8(tokenizer.piece(id), storage, &replaced));
}

namespace {

/// The legacy form of logprobs: parallel lists, with places in the text.
class LegacyLogprobs {
 public:
  explicit LegacyLogprobs(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void add(const TokenReport& token, bool first_of_prompt) {
    const std::string text = token_text(tokenizer_, token.id);
    tokens_.push_back(text);
    offsets_.push_back(offset_);
    if (!tokenizer_.is_special(token.id)) {  // control tokens are no text
      offset_ += static_cast<int64_t>(tokenizer_.piece(token.id).size());
    }
    if (first_of_prompt) {
      logprobs_.push_back(nullptr);
      best_.push_back(nullptr);
      return;
    }
    logprobs_.push_back(token.logprob);
    Json best = Json::object();
    for (const TokenChance& chance : token.best) {
      best[token_text(tokenizer_, chance.id)] = chance.logprob;
    }
    best[text] = token.logprob;
    best_.push_back(std::move(best));
  }

  Json take() {
    return {{"tokens", std::move(tokens_)},
            {"token_logprobs", std::move(logprobs_)},
            {"top_logprobs", std::move(best_)},
            {"text_offset", std::move(offsets_)}};
  }

 private:
  const Tokenizer& tokenizer_;
  int64_t offset_ = 0;
  Json tokens_ = Json::array(), logprobs_ = Json::array(), best_ = Json::array(),
       offsets_ = Json::array();
};

class CompletionsWriter : public OpenAiEvents<ReplyWriter> {
 public:
  using OpenAiEvents::OpenAiEvents;

 private:
  const char* object() const override { return "text_completion"; }

  std::string echo_of(int index) const {
    return request_.echo ? request_.echoes[static_cast<size_t>(index / request_.choices)] : "";
  }

  Json logprobs(int index, const std::vector<TokenReport>& tokens, bool with_prompt) const {
    LegacyLogprobs made(tokenizer());
    if (with_prompt) {
      bool first = true;
      for (const TokenReport& token : prompt_tokens(index))
        made.add(token, std::exchange(first, false));
    }
    for (const TokenReport& token : tokens) made.add(token, false);
    return made.take();
  }

  void write_piece(int index, const ReplyPiece& piece, const JobReport& so_far) override {
    const bool first = !choice(index).begun;
    const std::string text = (first ? echo_of(index) : "") + piece.text;
    if (text.empty() && (!request_.logprobs || piece.tokens.empty())) return;
    Json part = {
        {"index", index}, {"text", text}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
    if (request_.logprobs) {
      part["logprobs"] = logprobs(index, piece.tokens, first && request_.echo);
    }
    Json chunk = event(Json::array({std::move(part)}));
    if (request_.timings_per_token) chunk["timings"] = timings(so_far);
    send(chunk);
  }

  void write_finish(int index, const JobReport* report) override {
    finish_event({{"index", index},
                  {"text", ""},
                  {"logprobs", nullptr},
                  {"finish_reason", finish_reason(choice(index).finish)}},
                 report);
  }

  Json whole(const JobReport& report) override {
    Json all = Json::array();
    int index = 0;
    for (const Choice& made : choices()) {
      Json one = {{"index", index},
                  {"text", echo_of(index) + made.text},
                  {"logprobs", nullptr},
                  {"finish_reason", finish_reason(made.finish)}};
      if (request_.logprobs) one["logprobs"] = logprobs(index, made.tokens, request_.echo);
      all.push_back(std::move(one));
      ++index;
    }
    Json body = event(std::move(all));
    add_report(body, report);
    return body;
  }
};

}  // namespace

std::shared_ptr<ReplyWriter> make_writer(std::shared_ptr<const ServedModel> model,
                                         GenerationRequest request,
                                         std::shared_ptr<http::Exchange> exchange) {
  switch (request.api) {
    case Api::kChat:
      return make_chat_writer(std::move(model), std::move(request), std::move(exchange));
    case Api::kCompletions:
      return std::make_shared<CompletionsWriter>(std::move(model), std::move(request),
                                                 std::move(exchange));
    case Api::kMessages:
      return make_message_writer(std::move(model), std::move(request), std::move(exchange));
    case Api::kResponses:
      return make_responses_writer(std::move(model), std::move(request), std::move(exchange));
    case Api::kOllamaChat:
    case Api::kOllamaGenerate:
      return make_ollama_writer(std::move(model), std::move(request), std::move(exchange));
    case Api::kLlama:
      return make_llama_writer(std::move(model), std::move(request), std::move(exchange));
  }
  return nullptr;
}

}  // namespace longhaul::serve
