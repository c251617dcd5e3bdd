#pragma once
// Converts events of jobs to responses of the client's API: either a stream of events or one whole
// response. A job is one prompt with its replies (serve/scheduler/job.h).

#include <memory>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "serve/api/request.h"
#include "serve/scheduler/job.h"

namespace longhaul::serve {

/// Writes the response to one request from the events of its jobs. All its functions run on the
/// engine's thread.
class ReplyWriter : public std::enable_shared_from_this<ReplyWriter> {
 public:
  ReplyWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
              std::shared_ptr<http::Exchange> exchange);
  virtual ~ReplyWriter() = default;

  /// Connects the writer to its jobs. The jobs hold a reference to the writer.
  static void attach(const std::shared_ptr<ReplyWriter>& writer);

  const GenerationRequest& request() const { return request_; }

 protected:
  struct Choice {
    std::string text;
    std::vector<TokenReport> tokens;
    Finish finish = Finish::kNone;
    std::string stop_string;
    bool begun = false;
  };

  /// Returns the record of the keys that a choice attends to, or null if they are not watched.
  const std::shared_ptr<const SourceWatch>& watch(int choice) const {
    return watches_[static_cast<size_t>(choice)];
  }
  /// Reports that the job can run. The first event may be sent.
  virtual void on_accepted() {}
  /// Collects a piece of the reply for whole().
  virtual void keep_piece(int choice, const ReplyPiece& piece);
  /// Returns whether the choice needs no further tokens.
  virtual bool enough(int /*choice*/) const { return false; }
  /// Writes one event of a stream: a piece of choice number `choice`.
  virtual void write_piece(int choice, const ReplyPiece& piece, const JobReport& so_far) = 0;
  /// Writes the last event of a choice. `report` covers all jobs and is set for the choice that
  /// ends last; otherwise it is null.
  virtual void write_finish(int choice, const JobReport* report) = 0;
  virtual void write_end(const JobReport& report) = 0;
  virtual void write_progress(const PromptProgress& progress) = 0;
  virtual Json whole(const JobReport& report) = 0;
  /// Begins a stream of events in the format of the API.
  virtual std::shared_ptr<http::EventStream> begin_stream() { return exchange_->stream(); }
  /// Writes the last event of a stream that ends because of an error.
  virtual void write_error(const JobError& error);
  virtual bool llama() const { return false; }

  void open_stream();
  void send(const Json& event);
  Choice& choice(int index) { return choices_[static_cast<size_t>(index)]; }
  const std::vector<Choice>& choices() const { return choices_; }
  const std::vector<TokenReport>& prompt_tokens(int choice) const {
    return prompts_[static_cast<size_t>(choice / request_.choices)];
  }
  const Tokenizer& tokenizer() const { return model_->engine->tokenizer(); }

  Json usage(const JobReport& report) const;
  Json timings(const JobReport& report) const;
  Json progress_timings(const PromptProgress& progress) const;
  Json longhaul(const JobReport& report) const;

  std::shared_ptr<const ServedModel> model_;
  GenerationRequest request_;
  std::shared_ptr<http::Exchange> exchange_;
  std::shared_ptr<http::EventStream> events_;
  std::string id_;
  int64_t created_;

 private:
  class Sink;
  void on_piece(int choice, const ReplyPiece& piece, const JobReport& so_far);
  void on_sources(int choice, WatchedReply reply);
  void on_done(const JobReport& report);
  void write_all();
  void on_failed(const JobError& error);
  void flush_finished(const JobReport* report);

  std::vector<Choice> choices_;
  /// Records of the attended keys, one per choice; null: not watched.
  std::vector<std::shared_ptr<const SourceWatch>> watches_;
  std::vector<std::vector<TokenReport>> prompts_;
  std::vector<int> finished_;  ///< choices whose last event has not been sent yet
  size_t jobs_left_;
  bool failed_ = false;
  JobReport total_;
  /// Index of the choice, and its watched reply.
  std::vector<std::pair<int, WatchedReply>> watched_;
  std::vector<int32_t> prompt_;  ///< prompt of the job whose sources are requested
  std::string reread_;           ///< line for the log about the prefix cache
  Json sources_;                 ///< members of the report about sources; null: not requested
};

/// Creates the writer for the API of the request.
std::shared_ptr<ReplyWriter> make_writer(std::shared_ptr<const ServedModel> model,
                                         GenerationRequest request,
                                         std::shared_ptr<http::Exchange> exchange);

/// Returns `prefix`, such as "chatcmpl-", followed by 128 random bits.
std::string random_id(const std::string& prefix);

/// Returns the bytes of a token as a list of numbers, as in OpenAI's API.
Json bytes_of(std::string_view piece);
/// Returns "stop" or "length".
const char* finish_reason(Finish finish);

}  // namespace longhaul::serve
