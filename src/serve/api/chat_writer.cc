// Replies in the form of OpenAI's Chat API.

#include "serve/api/openai_events.h"
#include "serve/api/turn_writer.h"
#include "serve/api/writers.h"

namespace longhaul::serve {
namespace {

class ChatWriter : public OpenAiEvents<TurnWriter> {
 public:
  ChatWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
             std::shared_ptr<http::Exchange> exchange)
      : OpenAiEvents(std::move(model), std::move(request), std::move(exchange)),
        calls_begun_(choices().size(), 0) {}

 private:
  const char* object() const override {
    return request_.stream ? "chat.completion.chunk" : "chat.completion";
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

  void send_delta(int index, Json delta) {
    Json part = {{"index", index}, {"delta", std::move(delta)}};
    if (!new_tokens_.empty()) {
      part["logprobs"] = logprobs(std::exchange(new_tokens_, {}));
    }
    part["finish_reason"] = nullptr;
    Json chunk = event(Json::array({std::move(part)}));
    if (so_far_ != nullptr) chunk["timings"] = timings(*so_far_);
    send(chunk);
  }

  /// A delta carries the logprobs of all tokens that came with it, also of those whose text is not
  /// visible yet.
  void write_piece(int index, const ReplyPiece& piece, const JobReport& so_far) override {
    so_far_ = nullptr;
    if (!choice(index).begun) send_delta(index, {{"role", "assistant"}, {"content", ""}});
    if (request_.timings_per_token) so_far_ = &so_far;
    if (request_.logprobs) new_tokens_ = piece.tokens;
    OpenAiEvents::write_piece(index, piece, so_far);
    if (!new_tokens_.empty()) send_delta(index, {{"content", ""}});
    so_far_ = nullptr;
  }

  void begin_turn(int) override {}

  void begin_part(int index, const ReplyPart& part) override {
    if (part.kind != ReplyPart::Kind::kCall) return;
    const int number = calls_begun_[static_cast<size_t>(index)]++;
    send_delta(index, {{"tool_calls",
                        {{{"index", number},
                          {"id", part.id},
                          {"type", "function"},
                          {"function", {{"name", part.name}, {"arguments", ""}}}}}}});
  }

  void add_to_part(int index, const ReplyPart& part, std::string_view piece) override {
    switch (part.kind) {
      case ReplyPart::Kind::kText:
        return send_delta(index, {{"content", piece}});
      case ReplyPart::Kind::kReasoning:
        return send_delta(index, {{"reasoning_content", piece}});
      case ReplyPart::Kind::kCall:
        break;
    }
    const int number = calls_begun_[static_cast<size_t>(index)] - 1;
    Json call = {{"index", number}, {"function", {{"arguments", piece}}}};
    send_delta(index, {{"tool_calls", Json::array({std::move(call)})}});
  }

  void end_part(int, const ReplyPart&) override {}

  const char* reason(int index) {
    return calls_tools(index) ? "tool_calls" : finish_reason(choice(index).finish);
  }

  void finish_turn(int index, const JobReport* report) override {
    finish_event({{"index", index}, {"delta", Json::object()}, {"finish_reason", reason(index)}},
                 report);
  }

  Json message(int index) const {
    const ReplyTurn& made = turn(index);
    Json message = {{"role", "assistant"}, {"content", made.joined(ReplyPart::Kind::kText)}};
    const std::string reasoning = made.joined(ReplyPart::Kind::kReasoning);
    if (!reasoning.empty()) message["reasoning_content"] = reasoning;
    if (made.calls() == 0) return message;
    if (message["content"] == "") message["content"] = nullptr;
    message["tool_calls"] = Json::array();
    for (const ReplyPart& part : made.parts) {
      if (part.kind != ReplyPart::Kind::kCall) continue;
      message["tool_calls"].push_back(
          {{"id", part.id},
           {"type", "function"},
           {"function", {{"name", part.name}, {"arguments", part.text}}}});
    }
    return message;
  }

  Json whole(const JobReport& report) override {
    close_turns();
    Json all = Json::array();
    int index = 0;
    for (const Choice& made : choices()) {
      Json one = {{"index", index},
                  {"message", message(index)},
                  {"logprobs", nullptr},
                  {"finish_reason", reason(index)}};
      if (request_.logprobs) one["logprobs"] = logprobs(made.tokens);
      all.push_back(std::move(one));
      ++index;
    }
    Json body = event(std::move(all));
    add_report(body, report);
    return body;
  }

  std::vector<int> calls_begun_;         ///< counted for each choice
  std::vector<TokenReport> new_tokens_;  ///< tokens that no event has carried
  const JobReport* so_far_ = nullptr;    ///< while a piece is written, if it was requested
};

}  // namespace

std::shared_ptr<ReplyWriter> make_chat_writer(std::shared_ptr<const ServedModel> model,
                                              GenerationRequest request,
                                              std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<ChatWriter>(std::move(model), std::move(request), std::move(exchange));
}

}  // namespace longhaul::serve
