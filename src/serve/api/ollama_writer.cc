// Replies in the form of Ollama's /api/chat and /api/generate.

#include "serve/api/ollama.h"
#include "serve/api/openai_events.h"
#include "serve/api/progress_pace.h"
#include "serve/api/turn_writer.h"
#include "serve/api/writers.h"

namespace longhaul::serve {
namespace {

int64_t nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

class OllamaWriter : public TurnWriter {
 public:
  using TurnWriter::TurnWriter;

 private:
  bool chats() const { return request_.api == Api::kOllamaChat; }

  /// An object with a part of the reply: "content", "thinking" or "tool_calls".
  Json line(const char* member, Json value, bool done = false) const {
    Json made = {{"model", request_.model}, {"created_at", rfc3339_now()}};
    Json content = member == std::string_view("content") ? std::move(value) : Json("");
    if (chats()) {
      made["message"] = {{"role", "assistant"}, {"content", std::move(content)}};
    } else {
      made["response"] = std::move(content);
    }
    Json& owner = chats() ? made["message"] : made;
    if (member != std::string_view("content")) owner[member] = std::move(value);
    made["done"] = done;
    return made;
  }

  void send_piece(Json made) {
    if (!new_tokens_.empty()) made["logprobs"] = logprob_list(std::exchange(new_tokens_, {}));
    events_->send_line(text_of(made));
  }

  std::shared_ptr<http::EventStream> begin_stream() override {
    auto events = exchange_->stream("application/x-ndjson");
    events->set_ping(text_of(line("content", "")) + "\n");
    return events;
  }

  Json logprob_list(const std::vector<TokenReport>& tokens) const {
    const auto entry = [&](int32_t id, float logprob) {
      return Json{{"token", token_text(tokenizer(), id)},
                  {"logprob", logprob},
                  {"bytes", bytes_of(tokenizer().piece(id))}};
    };
    Json list = Json::array();
    for (const TokenReport& token : tokens) {
      Json one = entry(token.id, token.logprob);
      for (const TokenChance& chance : token.best) {
        one["top_logprobs"].push_back(entry(chance.id, chance.logprob));
      }
      list.push_back(std::move(one));
    }
    return list;
  }

  static Json call_of(const ReplyPart& part, size_t index) {
    Json arguments = Json::parse(part.text, nullptr, false);
    if (!arguments.is_object()) arguments = Json::object();
    return {
        {"id", part.id},
        {"function", {{"index", index}, {"name", part.name}, {"arguments", std::move(arguments)}}}};
  }

  void write_progress(const PromptProgress& progress) override {
    if (!pace_.due(progress.seconds)) return;
    Json made = line("content", "");
    made["longhaul"]["prompt_progress"] = {
        {"total", progress.total},
        {"cache", progress.cached},
        {"processed", progress.processed},
        {"time_ms", static_cast<int64_t>(progress.seconds * 1000)}};
    send_piece(std::move(made));
  }

  void write_piece(int choice, const ReplyPiece& piece, const JobReport& so_far) override {
    if (request_.logprobs) new_tokens_ = piece.tokens;
    TurnWriter::write_piece(choice, piece, so_far);
    if (!new_tokens_.empty()) send_piece(line("content", ""));
  }

  void begin_turn(int) override {}
  void begin_part(int, const ReplyPart&) override {}
  void add_to_part(int, const ReplyPart& part, std::string_view piece) override {
    if (part.kind == ReplyPart::Kind::kCall) return;  // a call comes whole
    send_piece(line(part.kind == ReplyPart::Kind::kText ? "content" : "thinking", piece));
  }
  void end_part(int, const ReplyPart& part) override {
    if (part.kind != ReplyPart::Kind::kCall || !part.complete) return;
    send_piece(line("tool_calls", Json::array({call_of(part, calls_++)})));
  }

  void add_report(Json& made, const JobReport& report) {
    made["done_reason"] = finish_reason(choice(0).finish);
    const double total = report.queue_seconds + report.prefill_seconds + report.decode_seconds;
    made["total_duration"] = nanoseconds(total);
    made["load_duration"] = 0;
    made["prompt_eval_count"] = report.prompt_tokens;
    made["prompt_eval_duration"] = nanoseconds(report.prefill_seconds);
    made["eval_count"] = report.reply_tokens;
    made["eval_duration"] = nanoseconds(report.decode_seconds);
    made["longhaul"] = longhaul(report);
  }

  void finish_turn(int, const JobReport*) override {}

  void write_end(const JobReport& report) override {
    Json made = line("content", "", true);
    add_report(made, report);
    send_piece(std::move(made));
  }

  Json whole(const JobReport& report) override {
    close_turns();
    const ReplyTurn& made = turn(0);
    Json body = line("content", made.joined(ReplyPart::Kind::kText), true);
    Json& owner = chats() ? body["message"] : body;
    const std::string thought = made.joined(ReplyPart::Kind::kReasoning);
    if (!thought.empty()) owner["thinking"] = thought;
    for (const ReplyPart& part : made.parts) {
      if (part.kind == ReplyPart::Kind::kCall) {
        owner["tool_calls"].push_back(call_of(part, calls_++));
      }
    }
    if (request_.logprobs) body["logprobs"] = logprob_list(choice(0).tokens);
    add_report(body, report);
    return body;
  }

  void write_error(const JobError& error) override {
    events_->send_line(text_of({{"error", error.message}}));
  }

  ProgressPace pace_;
  std::vector<TokenReport> new_tokens_;  ///< tokens that no line has carried
  size_t calls_ = 0;
};

}  // namespace

std::shared_ptr<ReplyWriter> make_ollama_writer(std::shared_ptr<const ServedModel> model,
                                                GenerationRequest request,
                                                std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<OllamaWriter>(std::move(model), std::move(request), std::move(exchange));
}

Json answer_at_once(const GenerationRequest& request) {
  Json made = {{"model", request.model}, {"created_at", rfc3339_now()}};
  if (request.api == Api::kOllamaChat) {
    made["message"] = {{"role", "assistant"}, {"content", ""}};
  } else {
    made["response"] = "";
  }
  made["done"] = true;
  made["done_reason"] = request.ends_at_once;
  return made;
}

}  // namespace longhaul::serve
