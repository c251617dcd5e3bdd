// Replies in the form of OpenAI's Responses API.

#include <chrono>

#include "serve/api/api_error.h"
#include "serve/api/progress_pace.h"
#include "serve/api/response_store.h"
#include "serve/api/responses_items.h"
#include "serve/api/responses_request.h"
#include "serve/api/turn_writer.h"
#include "serve/api/writers.h"

namespace longhaul::serve {
namespace {

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Whether a limit ended the reply.
bool was_cut(Finish finish) { return finish_reason(finish) == std::string_view("length"); }

class ResponsesWriter : public TurnWriter {
 public:
  ResponsesWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
                  std::shared_ptr<http::Exchange> exchange)
      : TurnWriter(std::move(model), std::move(request), std::move(exchange)),
        own_(*request_.responses),
        items_(own_.tools, own_.summary, [this](Json event) { number(std::move(event)); }) {
    id_ = random_id("resp_");
  }

 private:
  void number(Json event) {
    if (!request_.stream) return;
    event["sequence_number"] = sequence_++;
    events_->send_named(event["type"].get_ref<const std::string&>(), text_of(event));
  }

  Json frame(const char* status) const {
    return {{"id", id_},
            {"object", "response"},
            {"created_at", created_},
            {"status", status},
            {"background", false},
            {"error", nullptr},
            {"incomplete_details", nullptr}};
  }

  /// The response with everything that it repeats of the request.
  Json response(const char* status) const {
    Json made = frame(status);
    made.update(own_.fields);
    made["output"] = items_.output();
    made["usage"] = nullptr;
    return made;
  }

  Json usage_of(const JobReport& report) const {
    return {{"input_tokens", report.prompt_tokens},
            {"input_tokens_details", {{"cached_tokens", report.cached_tokens}}},
            {"output_tokens", report.reply_tokens},
            {"output_tokens_details", {{"reasoning_tokens", reasoning_tokens_}}},
            {"total_tokens", report.prompt_tokens + report.reply_tokens}};
  }

  Json ended(const JobReport& report) const {
    const bool cut = was_cut(choices()[0].finish);
    Json made = response(cut ? "incomplete" : "completed");
    if (cut) {
      made["incomplete_details"] = {{"reason", "max_output_tokens"}};
    } else {
      made["completed_at"] = unix_seconds();
    }
    made["usage"] = usage_of(report);
    made["timings"] = timings(report);
    made["longhaul"] = longhaul(report);
    return made;
  }

  void keep(const Json& response) {
    if (!own_.store) return;
    Json messages = own_.messages;
    messages.push_back(items_.message());
    model_->responses->keep(own_.key, id_,
                            {text_of(response), text_of(own_.input), text_of(messages)});
  }

  void on_accepted() override {
    if (!request_.stream) return;
    open_stream();
    number({{"type", "response.created"}, {"response", response("in_progress")}});
    number({{"type", "response.in_progress"}, {"response", response("in_progress")}});
  }

  /// Without the members that repeat the request, which may be long.
  void write_progress(const PromptProgress& progress) override {
    if (!pace_.due(progress.seconds)) return;
    Json made = frame("in_progress");
    made["model"] = request_.model;
    made["output"] = Json::array();
    number({{"type", "response.in_progress"}, {"response", std::move(made)}});
    number({{"type", "response.longhaul.progress"},
            {"total", progress.total},
            {"cache", progress.cached},
            {"processed", progress.processed},
            {"time_ms", static_cast<int64_t>(progress.seconds * 1000)}});
  }

  void begin_turn(int) override {}
  void begin_part(int, const ReplyPart& part) override { items_.begin(part); }
  void add_to_part(int, const ReplyPart&, std::string_view piece) override { items_.add(piece); }
  void cite(int, const ReplyPart&, const Citation& citation) override {
    for (const CitedPassage& passage : citation.passages) items_.annotate(passage);
  }
  void end_part(int choice, const ReplyPart& part) override { end_item(choice, part); }
  void end_item(int index, const ReplyPart& part) {
    const bool call = part.kind == ReplyPart::Kind::kCall;
    items_.end(call ? part.complete : !was_cut(choice(index).finish));
  }

  void write_piece(int choice, const ReplyPiece& piece, const JobReport& so_far) override {
    TurnWriter::write_piece(choice, piece, so_far);
    count_reasoning(piece);
  }
  void keep_piece(int choice, const ReplyPiece& piece) override {
    TurnWriter::keep_piece(choice, piece);
    count_reasoning(piece);
  }
  void count_reasoning(const ReplyPiece& piece) {
    const auto& parts = turn(0).parts;
    if (parts.empty() || parts.back().kind != ReplyPart::Kind::kReasoning) return;
    reasoning_tokens_ += std::ssize(piece.tokens);
  }

  void finish_turn(int, const JobReport*) override {}

  void write_end(const JobReport& report) override {
    Json made = ended(report);
    keep(made);
    const bool cut = made["status"] == "incomplete";
    number({{"type", cut ? "response.incomplete" : "response.completed"},
            {"response", std::move(made)}});
  }

  Json whole(const JobReport& report) override {
    close_turns();
    for (const ReplyPart& part : turn(0).parts) {
      items_.begin(part);
      if (part.citations.empty()) items_.add(part.text);
      for (const Citation& citation : part.citations) {
        const ByteRange& range = citation.sentence;
        items_.add(std::string_view(part.text).substr(range.begin, range.end - range.begin));
        for (const CitedPassage& passage : citation.passages) items_.annotate(passage);
      }
      end_item(0, part);
    }
    Json made = ended(report);
    keep(made);
    return made;
  }

  /// Codex reads response.failed; OpenAI's clients raise the event "error".
  void write_error(const JobError& error) override {
    const Json body = Json::parse(error_body(error, "input"));
    Json failed = response("failed");
    failed["error"] = {{"code", error.code}, {"message", error.message}};
    number({{"type", "response.failed"}, {"response", std::move(failed)}});
    number({{"type", "error"},
            {"code", error.code},
            {"message", error.message},
            {"param", body["error"]["param"]},
            {"error", body["error"]}});
  }

  const ResponsesRequest& own_;  // request_ holds it
  ResponsesItems items_;
  ProgressPace pace_;
  int64_t sequence_ = 0, reasoning_tokens_ = 0;
};

}  // namespace

std::shared_ptr<ReplyWriter> make_responses_writer(std::shared_ptr<const ServedModel> model,
                                                   GenerationRequest request,
                                                   std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<ResponsesWriter>(std::move(model), std::move(request),
                                           std::move(exchange));
}

}  // namespace longhaul::serve
