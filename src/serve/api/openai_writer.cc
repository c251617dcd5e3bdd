// Replies in the form of OpenAI's Chat and Completions APIs.

#include "serve/api/writers.h"
#include "text/utf8.h"

namespace longhaul::serve {
namespace {

/// A token's text as JSON can hold it.
std::string token_text(const Tokenizer& tokenizer, int32_t id) {
  std::string storage;
  size_t replaced = 0;
  return std::string(repair_utf8(tokenizer.piece(id), storage, &replaced));
}

/// A stream of an API whose events are objects with choices.
class OpenAiWriter : public ReplyWriter {
 public:
  using ReplyWriter::ReplyWriter;

 protected:
  virtual Json frame() const = 0;

  Json event(Json choices) const {
    Json event = frame();
    event["choices"] = std::move(choices);
    return event;
  }

  void add_report(Json& event, const JobReport& report) const {
    event["usage"] = usage(report);
    event["timings"] = timings(report);
    event["longhaul"] = longhaul(report);
  }

  void write_progress(const PromptProgress& progress) override {
    Json chunk = event(Json::array());
    chunk["prompt_progress"] = {{"total", progress.total},
                                {"cache", progress.cached},
                                {"processed", progress.processed},
                                {"time_ms", static_cast<int64_t>(progress.seconds * 1000)}};
    send(chunk);
  }

  void write_end(const JobReport& report) override {
    if (request_.include_usage) {
      Json last = event(Json::array());
      add_report(last, report);
      send(last);
    }
    events_->send("[DONE]");
  }

  /// With include_usage a chunk of its own carries the report: not every client reads chunks
  /// without choices, and those that do have asked for it.
  void finish_event(Json finished, const JobReport* report) {
    Json chunk = event(Json::array({std::move(finished)}));
    if (report != nullptr) {
      chunk["timings"] = timings(*report);
      if (!request_.include_usage) add_report(chunk, *report);
    }
    send(chunk);
  }
};

class ChatWriter : public OpenAiWriter {
 public:
  using OpenAiWriter::OpenAiWriter;

 private:
  Json frame() const override {
    return {{"id", id_},
            {"object", request_.stream ? "chat.completion.chunk" : "chat.completion"},
            {"created", created_},
            {"model", request_.model},
            {"system_fingerprint", "longhaul"}};
  }

  Json logprobs(const std::vector<TokenReport>& tokens) const {
    const auto entry = [&](int32_t id, float logprob) {
      return Json{{"token", token_text(tokenizer(), id)},
                  {"logprob", logprob},
                  {"bytes", bytes_of(tokenizer().piece(id))}};
    };
    Json content = Json::array();
    for (const TokenReport& token : tokens) {
      Json one = entry(token.id, token.logprob);
      one["top_logprobs"] = Json::array();
      for (const TokenChance& chance : token.best) {
        one["top_logprobs"].push_back(entry(chance.id, chance.logprob));
      }
      content.push_back(std::move(one));
    }
    return {{"content", std::move(content)}};
  }

  void write_piece(int index, const ReplyPiece& piece, const JobReport& so_far) override {
    if (!choice(index).begun) {
      const Json delta = {{"role", "assistant"}, {"content", ""}};
      send(event(Json::array({{{"index", index}, {"delta", delta}, {"finish_reason", nullptr}}})));
    }
    if (piece.text.empty() && (!request_.logprobs || piece.tokens.empty())) return;
    Json part = {{"index", index}, {"delta", {{"content", piece.text}}}};
    if (request_.logprobs) part["logprobs"] = logprobs(piece.tokens);
    part["finish_reason"] = nullptr;
    Json chunk = event(Json::array({std::move(part)}));
    if (request_.timings_per_token) chunk["timings"] = timings(so_far);
    send(chunk);
  }

  void write_finish(int index, const JobReport* report) override {
    finish_event({{"index", index},
                  {"delta", Json::object()},
                  {"finish_reason", finish_reason(choice(index).finish)}},
                 report);
  }

  Json whole(const JobReport& report) override {
    Json all = Json::array();
    int index = 0;
    for (const Choice& made : choices()) {
      Json one = {{"index", index++},
                  {"message", {{"role", "assistant"}, {"content", made.text}}},
                  {"logprobs", nullptr},
                  {"finish_reason", finish_reason(made.finish)}};
      if (request_.logprobs) one["logprobs"] = logprobs(made.tokens);
      all.push_back(std::move(one));
    }
    Json body = event(std::move(all));
    add_report(body, report);
    return body;
  }
};

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

class CompletionsWriter : public OpenAiWriter {
 public:
  using OpenAiWriter::OpenAiWriter;

 private:
  Json frame() const override {
    return {{"id", id_},
            {"object", "text_completion"},
            {"created", created_},
            {"model", request_.model},
            {"system_fingerprint", "longhaul"}};
  }

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
      return std::make_shared<ChatWriter>(std::move(model), std::move(request),
                                          std::move(exchange));
    case Api::kCompletions:
      return std::make_shared<CompletionsWriter>(std::move(model), std::move(request),
                                                 std::move(exchange));
    case Api::kLlama:
      return make_llama_writer(std::move(model), std::move(request), std::move(exchange));
  }
  return nullptr;
}

}  // namespace longhaul::serve
