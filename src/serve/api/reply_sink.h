#pragma once
// Converts the results of jobs to a response in the form of the client's API. The response is
// either a stream of events or one whole JSON object. A job is one prompt with its replies
// (serve/scheduler/job.h).

#include <memory>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "serve/api/request.h"
#include "serve/scheduler/job.h"

namespace longhaul::serve {

/// Writes the response to one request from the results of its jobs. Each reply of a job is called a
/// choice. The choices of all jobs are numbered consecutively. All functions of the writer run on
/// the engine's thread.
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

  /// Returns the record of the keys to which the tokens of a choice attend. Null if the request
  /// needs no such record.
  const std::shared_ptr<const SourceWatch>& watch(int choice) const {
    return watches_[static_cast<size_t>(choice)];
  }
  /// Called when a job has been accepted. From now on events may be sent.
  virtual void on_accepted() {}
  /// Stores a piece of the reply for whole(). Called only if the request is not streamed.
  virtual void keep_piece(int choice, const ReplyPiece& piece);
  /// Returns whether the choice needs no further tokens.
  virtual bool enough(int /*choice*/) const { return false; }
  /// Writes one event of a stream, with a piece of choice number `choice`.
  virtual void write_piece(int choice, const ReplyPiece& piece, const JobReport& so_far) = 0;
  /// Writes the last event of a choice. `report` covers all jobs. It is null unless this choice
  /// ends last.
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
  /// Records of the keys to which the choices attend, one per choice; null: not recorded.
  std::vector<std::shared_ptr<const SourceWatch>> watches_;
  std::vector<std::vector<TokenReport>> prompts_;
  std::vector<int> finished_;  ///< choices whose last event has not been sent yet
  size_t jobs_left_;
  bool failed_ = false;
  JobReport total_;
  /// Replies whose attended keys were recorded, each with the number of its choice.
  std::vector<std::pair<int, WatchedReply>> watched_;
  std::vector<int32_t> prompt_;  ///< prompt of the job whose sources are requested
  /// Text for the log that explains a miss of the prefix cache; may be empty.
  std::string reread_;
  /// Members of the report that describe sources; null: not requested.
  Json sources_;
};

/// Creates the writer for the API in `request.api`.
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
