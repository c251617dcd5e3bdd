#pragma once
// Events of jobs to the client's API: as a stream of events, or gathered into one answer.

#include <memory>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "serve/api/request.h"
#include "serve/scheduler/job.h"

namespace longhaul::serve {

/// The answer to one request, made from the events of its jobs. Everything runs on the engine's
/// thread.
class ReplyWriter : public std::enable_shared_from_this<ReplyWriter> {
 public:
  ReplyWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
              std::shared_ptr<http::Exchange> exchange);
  virtual ~ReplyWriter() = default;

  /// Gives every job its sink. The jobs hold the writer.
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

  /// The keys that a choice attends to; null: they are not watched.
  const std::shared_ptr<const SourceWatch>& watch(int choice) const {
    return watches_[static_cast<size_t>(choice)];
  }
  /// The job can run: the first event may be sent.
  virtual void on_accepted() {}
  /// Gathers a piece for whole().
  virtual void keep_piece(int choice, const ReplyPiece& piece);
  /// Whether the choice needs no further tokens.
  virtual bool enough(int /*choice*/) const { return false; }
  /// One event of a stream: a piece of the choice with this index.
  virtual void write_piece(int choice, const ReplyPiece& piece, const JobReport& so_far) = 0;
  /// The last event of a choice. `report`: of all jobs, with the last choice that ends.
  virtual void write_finish(int choice, const JobReport* report) = 0;
  virtual void write_end(const JobReport& report) = 0;
  virtual void write_progress(const PromptProgress& progress) = 0;
  virtual Json whole(const JobReport& report) = 0;
  /// Begins a stream of events in the API's form.
  virtual std::shared_ptr<http::EventStream> begin_stream() { return exchange_->stream(); }
  /// The last event of a stream that cannot go on.
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
  std::vector<std::shared_ptr<const SourceWatch>> watches_;  ///< by choice
  std::vector<std::vector<TokenReport>> prompts_;
  std::vector<int> finished_;  ///< choices whose last event waits for what follows it
  size_t jobs_left_;
  bool failed_ = false;
  JobReport total_;
  std::vector<std::pair<int, WatchedReply>> watched_;  ///< with the index of the choice
  std::vector<int32_t> prompt_;  ///< prompt of the job whose sources are asked for
  std::string reread_;           ///< a line about the cache for the log
  Json sources_;                 ///< members of the report; null: not asked for
};

/// The writer of an API.
std::shared_ptr<ReplyWriter> make_writer(std::shared_ptr<const ServedModel> model,
                                         GenerationRequest request,
                                         std::shared_ptr<http::Exchange> exchange);

/// "chatcmpl-" and 128 random bits.
std::string random_id(const std::string& prefix);

/// A token's bytes as a list of numbers, as OpenAI has them.
Json bytes_of(std::string_view piece);
/// "stop" or "length".
const char* finish_reason(Finish finish);

}  // namespace longhaul::serve
