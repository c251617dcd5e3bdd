#pragma once
// Defines functions that the writers (serve/api/reply_sink.h) of OpenAI's Chat and Completions APIs
// share.

#include "serve/api/reply_sink.h"

namespace longhaul::serve {

/// Returns the text of a token in a form that JSON can represent.
std::string token_text(const Tokenizer& tokenizer, int32_t id);

/// A base class of writers that stream events in OpenAI's form, which are objects with "choices".
/// `Base` is ReplyWriter or TurnWriter.
template <class Base>
class OpenAiEvents : public Base {
 public:
  using Base::Base;

 protected:
  /// Returns the members of an event that come before its choices.
  Json frame(const char* object) const {
    return {{"id", this->id_},
            {"object", object},
            {"created", this->created_},
            {"model", this->request_.model},
            {"system_fingerprint", "by-longhaul"}};
  }
  virtual const char* object() const = 0;

  Json event(Json choices) const {
    Json event = frame(object());
    event["choices"] = std::move(choices);
    return event;
  }

  void add_report(Json& event, const JobReport& report) const {
    event["usage"] = this->usage(report);
    event["timings"] = this->timings(report);
    event["longhaul"] = this->longhaul(report);
  }

  void write_progress(const PromptProgress& progress) override {
    Json chunk = event(Json::array());
    chunk["prompt_progress"] = {{"total", progress.total},
                                {"cache", progress.cached},
                                {"processed", progress.processed},
                                {"time_ms", static_cast<int64_t>(progress.seconds * 1000)}};
    if (this->request_.timings_per_token) chunk["timings"] = this->progress_timings(progress);
    this->send(chunk);
  }

  void write_end(const JobReport& report) override {
    if (this->request_.include_usage) {
      Json last = event(Json::array());
      add_report(last, report);
      this->send(last);
    }
    this->events_->send("[DONE]");
  }

  /// Sends the last event of a choice. `report` is null unless this choice ends last. With
  /// include_usage, write_end() sends the report in a separate event without choices. Not every
  /// client can read such an event, so it is sent only to clients that requested it. Without
  /// include_usage, the report is a part of the last event.
  void finish_event(Json finished, const JobReport* report) {
    Json chunk = event(Json::array({std::move(finished)}));
    if (report != nullptr) {
      chunk["timings"] = this->timings(*report);
      if (!this->request_.include_usage) add_report(chunk, *report);
    }
    this->send(chunk);
  }
};

}  // namespace longhaul::serve
