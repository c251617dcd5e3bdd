// Replies in the form of Anthropic's Messages API.

#include <algorithm>

#include "serve/api/api_error.h"
#include "serve/api/turn_writer.h"
#include "serve/api/writers.h"

namespace longhaul::serve {
namespace {

constexpr double kFirstPing = 0.25, kLongestPing = 15;  // seconds
constexpr const char* kSignature = "longhaul";          // clients send it back with the thinking

class MessageWriter : public TurnWriter {
 public:
  MessageWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
                std::shared_ptr<http::Exchange> exchange)
      : TurnWriter(std::move(model), std::move(request), std::move(exchange)),
        prompt_tokens_(std::ssize(request_.jobs.front()->prompt)),
        last_checkpoint_(request_.jobs.front()->checkpoints.empty()
                             ? 0
                             : request_.jobs.front()->checkpoints.back()) {}

 private:
  const char* call_prefix() const override { return "toolu_"; }

  void send_event(const char* type, Json event) {
    Json whole = {{"type", type}};
    whole.update(event);
    events_->send_named(type, text_of(whole));
  }

  Json frame(Json content, Json stop_reason, Json usage) const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", request_.model},
            {"content", std::move(content)},
            {"stop_reason", std::move(stop_reason)},
            {"stop_sequence", nullptr},
            {"usage", std::move(usage)}};
  }

  /// input_tokens leaves out tokens that were read from the cache, and those up to the last mark,
  /// which the cache keeps from now on.
  Json message_usage(int64_t cached, int64_t reply_tokens) const {
    const int64_t created = std::max<int64_t>(0, last_checkpoint_ - cached);
    return {{"input_tokens", prompt_tokens_ - cached - created},
            {"cache_creation_input_tokens", created},
            {"cache_read_input_tokens", cached},
            {"output_tokens", reply_tokens}};
  }

  std::shared_ptr<http::EventStream> begin_stream() override {
    auto events = TurnWriter::begin_stream();
    events->set_ping("event: ping\ndata: {\"type\":\"ping\"}\n\n");
    return events;
  }

  /// The message starts before the prompt has been read.
  void on_accepted() override { start(); }

  void start() {
    if (!request_.stream || std::exchange(started_, true)) return;
    open_stream();
    Json usage = message_usage(0, 0);
    usage["input_tokens"] = prompt_tokens_;
    usage["cache_creation_input_tokens"] = 0;
    send_event("message_start", {{"message", frame(Json::array(), nullptr, std::move(usage))}});
  }

  void write_progress(const PromptProgress& progress) override {
    start();
    const bool done = progress.processed >= progress.total;
    if (progress.seconds < next_ping_ && !done) return;
    next_ping_ = progress.seconds + interval_;
    interval_ = std::min(2 * interval_, kLongestPing);
    send_event("ping", {{"longhaul_progress",
                         {{"total", progress.total},
                          {"cache", progress.cached},
                          {"processed", progress.processed},
                          {"time_ms", static_cast<int64_t>(progress.seconds * 1000)}}}});
  }

  void begin_turn(int) override { start(); }

  static Json block_of(const ReplyPart& part, bool with_text) {
    const std::string text = with_text ? part.text : "";
    switch (part.kind) {
      case ReplyPart::Kind::kText:
        return {{"type", "text"}, {"text", text}};
      case ReplyPart::Kind::kReasoning:
        return {
            {"type", "thinking"}, {"thinking", text}, {"signature", with_text ? kSignature : ""}};
      case ReplyPart::Kind::kCall:
        break;
    }
    return {{"type", "tool_use"},
            {"id", part.id},
            {"name", part.name},
            {"input", with_text ? Json::parse(part.text, nullptr, false) : Json::object()}};
  }

  /// In the words of the API. The document may have come without a title or a file.
  static Json citation_json(const CitedPassage& passage) {
    const QuestionDocument& document = *passage.document;
    const std::string name = document.title.empty() ? document.text->document.name : document.title;
    return {{"type", "char_location"},
            {"cited_text", passage.text},
            {"document_index", document.number},
            {"document_title", name.empty() ? Json() : Json(name)},
            {"start_char_index", passage.from},
            {"end_char_index", passage.to},
            {"file_id", document.id.empty() ? Json() : Json(document.id)},
            {"page", passage.page > 0 ? Json(passage.page) : Json()},
            {"share", passage.share}};
  }

  void begin_part(int, const ReplyPart& part) override {
    Json block = block_of(part, false);
    if (request_.citations && part.kind == ReplyPart::Kind::kText) {
      block["citations"] = Json::array();
    }
    send_event("content_block_start", {{"index", block_}, {"content_block", std::move(block)}});
  }

  void send_delta(int, Json delta) {
    send_event("content_block_delta", {{"index", block_}, {"delta", std::move(delta)}});
  }

  /// Each sentence is a block, because citations belong to a block.
  void cite(int choice, const ReplyPart&, const Citation& citation) override {
    for (const CitedPassage& passage : citation.passages) {
      send_delta(choice, {{"type", "citations_delta"}, {"citation", citation_json(passage)}});
    }
    sentence_ended_ = true;
  }

  void begin_next_sentence(int choice, const ReplyPart& part) {
    if (!std::exchange(sentence_ended_, false)) return;
    send_event("content_block_stop", {{"index", block_++}});
    begin_part(choice, part);
  }

  void add_to_part(int choice, const ReplyPart& part, std::string_view piece) override {
    switch (part.kind) {
      case ReplyPart::Kind::kText:
        begin_next_sentence(choice, part);
        return send_delta(choice, {{"type", "text_delta"}, {"text", piece}});
      case ReplyPart::Kind::kReasoning:
        return send_delta(choice, {{"type", "thinking_delta"}, {"thinking", piece}});
      case ReplyPart::Kind::kCall:
        return send_delta(choice, {{"type", "input_json_delta"}, {"partial_json", piece}});
    }
  }

  void end_part(int choice, const ReplyPart& part) override {
    if (part.kind == ReplyPart::Kind::kReasoning) {
      send_delta(choice, {{"type", "signature_delta"}, {"signature", kSignature}});
    }
    sentence_ended_ = false;
    send_event("content_block_stop", {{"index", block_++}});
  }

  const char* stop_reason() {
    if (calls_tools(0)) return "tool_use";
    switch (choice(0).finish) {
      case Finish::kNone:
      case Finish::kEnd:
        return "end_turn";
      case Finish::kStopString:
        return "stop_sequence";
      case Finish::kContextFull:
        return "model_context_window_exceeded";
      default:
        return "max_tokens";
    }
  }

  Json stop_sequence() {
    const Choice& made = choice(0);
    return made.finish == Finish::kStopString ? Json(made.stop_string) : Json();
  }

  void finish_turn(int, const JobReport*) override {}

  void write_end(const JobReport& report) override {
    send_event("message_delta",
               {{"delta", {{"stop_reason", stop_reason()}, {"stop_sequence", stop_sequence()}}},
                {"usage", message_usage(report.cached_tokens, report.reply_tokens)},
                {"longhaul", longhaul(report)}});
    send_event("message_stop", Json::object());
  }

  void write_error(const JobError& error) override {
    events_->send_named("error",
                        in_error_form(response_of(error, "messages"), ErrorForm::kAnthropic).body);
  }

  static void add_sentences(const ReplyPart& part, Json& content) {
    for (const Citation& citation : part.citations) {
      const ByteRange& range = citation.sentence;
      Json cited = Json::array();
      for (const CitedPassage& passage : citation.passages) cited.push_back(citation_json(passage));
      content.push_back({{"type", "text"},
                         {"text", part.text.substr(range.begin, range.end - range.begin)},
                         {"citations", cited.empty() ? Json() : std::move(cited)}});
    }
  }

  Json whole(const JobReport& report) override {
    close_turns();
    Json content = Json::array();
    for (const ReplyPart& part : turn(0).parts) {
      if (part.citations.empty()) {
        content.push_back(block_of(part, true));
      } else {
        add_sentences(part, content);
      }
    }
    Json message = frame(std::move(content), stop_reason(),
                         message_usage(report.cached_tokens, report.reply_tokens));
    message["stop_sequence"] = stop_sequence();
    message["longhaul"] = longhaul(report);
    return message;
  }

  int64_t prompt_tokens_, last_checkpoint_;
  bool started_ = false;
  int block_ = 0;                ///< index of the open block of a stream
  bool sentence_ended_ = false;  ///< further text begins a new block
  double next_ping_ = 0, interval_ = kFirstPing;
};

}  // namespace

std::shared_ptr<ReplyWriter> make_message_writer(std::shared_ptr<const ServedModel> model,
                                                 GenerationRequest request,
                                                 std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<MessageWriter>(std::move(model), std::move(request), std::move(exchange));
}

}  // namespace longhaul::serve
