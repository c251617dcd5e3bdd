#include "serve/api/reply_sink.h"

#include <fmt/format.h>

#include <chrono>
#include <random>

#include "serve/api/api_error.h"
#include "serve/api/cache_fields.h"
#include "serve/output/sources.h"

namespace longhaul::serve {

std::string random_id(const std::string& prefix) {
  thread_local std::random_device device;
  return fmt::format("{}{:08x}{:08x}{:08x}{:08x}", prefix, device(), device(), device(), device());
}

Json bytes_of(std::string_view piece) {
  Json bytes = Json::array();
  for (const char c : piece) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

const char* finish_reason(Finish finish) {
  switch (finish) {
    case Finish::kNone:
    case Finish::kEnd:
    case Finish::kStopString:
      return "stop";
    default:
      return "length";
  }
}

namespace {

const char* id_prefix(Api api) {
  switch (api) {
    case Api::kChat:
      return "chatcmpl-";
    case Api::kMessages:
      return "msg_";
    default:
      return "cmpl-";
  }
}

}  // namespace

/// The events of one job of a request.
class ReplyWriter::Sink : public JobSink {
 public:
  Sink(std::shared_ptr<ReplyWriter> writer, int job) : writer_(std::move(writer)), job_(job) {}

  void accepted() override { writer_->on_accepted(); }
  bool enough(int choice) const override {
    return writer_->enough(job_ * writer_->request_.choices + choice);
  }
  void progress(const PromptProgress& progress) override {
    writer_->open_stream();
    writer_->write_progress(progress);
  }
  void prompt_tokens(std::vector<TokenReport> tokens) override {
    writer_->prompts_[static_cast<size_t>(job_)] = std::move(tokens);
  }
  void piece(int choice, const ReplyPiece& piece, const JobReport& so_far) override {
    writer_->on_piece(job_ * writer_->request_.choices + choice, piece, so_far);
  }
  void watching(int choice, const std::shared_ptr<const SourceWatch>& watch) override {
    writer_->watches_[static_cast<size_t>(job_ * writer_->request_.choices + choice)] = watch;
  }
  void sources(int choice, const WatchedReply& reply) override {
    writer_->on_sources(job_ * writer_->request_.choices + choice, reply);
  }
  void done(const JobReport& report) override { writer_->on_done(report); }
  void failed(const JobError& error) override { writer_->on_failed(error); }
  bool full() const override { return writer_->events_ && writer_->events_->full(); }

 private:
  std::shared_ptr<ReplyWriter> writer_;
  int job_;
};

ReplyWriter::ReplyWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
                         std::shared_ptr<http::Exchange> exchange)
    : model_(std::move(model)),
      request_(std::move(request)),
      exchange_(std::move(exchange)),
      id_(random_id(id_prefix(request_.api))),
      created_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      choices_(request_.jobs.size() * static_cast<size_t>(request_.choices)),
      watches_(choices_.size()),
      prompts_(request_.jobs.size()),
      jobs_left_(request_.jobs.size()) {}

void ReplyWriter::attach(const std::shared_ptr<ReplyWriter>& writer) {
  int index = 0;
  std::vector<std::weak_ptr<Job>> jobs;
  if (writer->request_.sources && !writer->request_.jobs.empty()) {
    writer->prompt_ = writer->request_.jobs.front()->prompt;
  }
  for (const auto& job : writer->request_.jobs) {
    job->sink = std::make_shared<Sink>(writer, index++);
    jobs.push_back(job);
  }
  writer->exchange_->on_close([jobs] {
    for (const auto& weak : jobs) {
      if (const auto job = weak.lock()) job->cancel.request();
    }
  });
  writer->request_.jobs.clear();  // which hold the writer
}

void ReplyWriter::open_stream() {
  if (request_.stream && !events_) events_ = begin_stream();
}

void ReplyWriter::send(const Json& event) { events_->send(text_of(event)); }

void ReplyWriter::on_piece(int index, const ReplyPiece& piece, const JobReport& so_far) {
  if (failed_) return;
  open_stream();
  Choice& whole = choice(index);
  if (piece.finish != Finish::kNone) {
    whole.finish = piece.finish;
    whole.stop_string = piece.stop_string;
  }
  if (!request_.stream) return keep_piece(index, piece);
  flush_finished(nullptr);
  if (!piece.text.empty() || !piece.tokens.empty() || !whole.begun) {
    write_piece(index, piece, so_far);
  }
  whole.begun = true;
  if (piece.finish != Finish::kNone) finished_.push_back(index);
}

void ReplyWriter::keep_piece(int index, const ReplyPiece& piece) {
  Choice& whole = choice(index);
  whole.text += piece.text;
  whole.tokens.insert(whole.tokens.end(), piece.tokens.begin(), piece.tokens.end());
}

/// Last events wait for what follows them, because the very last one carries the report.
void ReplyWriter::flush_finished(const JobReport* report) {
  for (size_t i = 0; i < finished_.size(); ++i) {
    write_finish(finished_[i], i + 1 == finished_.size() ? report : nullptr);
  }
  finished_.clear();
}

void ReplyWriter::on_sources(int index, WatchedReply reply) {
  watched_.emplace_back(index, std::move(reply));
}

void ReplyWriter::on_done(const JobReport& report) {
  total_.prompt_tokens += report.prompt_tokens;
  total_.cached_tokens += report.cached_tokens;
  total_.reply_tokens += report.reply_tokens;
  total_.queue_seconds = std::max(total_.queue_seconds, report.queue_seconds);
  total_.prefill_seconds += report.prefill_seconds;
  total_.first_token_seconds = std::max(total_.first_token_seconds, report.first_token_seconds);
  total_.decode_seconds += report.decode_seconds;
  total_.kv_bytes += report.kv_bytes;
  total_.pairs_share = report.pairs_share;
  total_.cache = report.cache;
  total_.cache.reused = total_.cached_tokens;
  total_.warnings.insert(total_.warnings.end(), report.warnings.begin(), report.warnings.end());
  if (--jobs_left_ > 0 || failed_) return;
  reread_ = log_line(report.cache, report.prompt_tokens);
  if (!request_.sources) return write_all();
  // No further event comes from the engine's thread, so another thread may do the rest.
  const auto work = [self = shared_from_this()] {
    self->sources_ = sources_json(*self->model_, self->request_, self->prompt_, self->watched_);
    self->write_all();
  };
  if (!request_.run || !request_.run(work)) work();
}

void ReplyWriter::write_all() {
  exchange_->set_note(fmt::format(
      "prompt={} cached={} reply={} queue_ms={:.0f} prefill_ms={:.0f} reply_ms={:.0f}{}{}",
      total_.prompt_tokens, total_.cached_tokens, total_.reply_tokens, total_.queue_seconds * 1000,
      total_.prefill_seconds * 1000, total_.decode_seconds * 1000, reread_.empty() ? "" : " ",
      reread_));
  if (!request_.stream) {
    http::HttpResponse response;
    response.body = text_of(whole(total_));
    exchange_->reply(std::move(response));
    return;
  }
  open_stream();
  flush_finished(&total_);
  write_end(total_);
  events_->finish();
}

void ReplyWriter::on_failed(const JobError& error) {
  --jobs_left_;
  if (failed_) return;
  failed_ = true;
  exchange_->set_note("error=" + error.code);
  const std::string& path = exchange_->request.path;
  if (!events_) {
    return exchange_->reply(
        in_error_form(response_of(error, prompt_member(path), llama()), error_form_of(path)));
  }
  write_error(error);
  events_->finish();
}

void ReplyWriter::write_error(const JobError& error) {
  events_->send(error_body(error, prompt_member(exchange_->request.path), llama()));
  if (!llama()) events_->send("[DONE]");
}

Json ReplyWriter::usage(const JobReport& report) const {
  Json usage;
  usage["prompt_tokens"] = report.prompt_tokens;
  usage["completion_tokens"] = report.reply_tokens;
  usage["total_tokens"] = report.prompt_tokens + report.reply_tokens;
  usage["prompt_tokens_details"]["cached_tokens"] = report.cached_tokens;
  return usage;
}

Json ReplyWriter::timings(const JobReport& report) const {
  const auto per = [](double a, double b) { return b > 0 ? a / b : 0; };
  const auto read = static_cast<double>(report.prompt_tokens - report.cached_tokens);
  // The first token comes from the logits of the prompt.
  const auto steps = static_cast<double>(std::max<int64_t>(0, report.reply_tokens - 1));
  Json timings;
  timings["cache_n"] = report.cached_tokens;
  timings["prompt_n"] = report.prompt_tokens - report.cached_tokens;
  timings["prompt_ms"] = report.prefill_seconds * 1000;
  timings["prompt_per_token_ms"] = per(report.prefill_seconds * 1000, read);
  timings["prompt_per_second"] = per(read, report.prefill_seconds);
  timings["predicted_n"] = report.reply_tokens;
  timings["predicted_ms"] = report.decode_seconds * 1000;
  timings["predicted_per_token_ms"] = per(report.decode_seconds * 1000, steps);
  timings["predicted_per_second"] = per(steps, report.decode_seconds);
  return timings;
}

Json ReplyWriter::progress_timings(const PromptProgress& progress) const {
  JobReport report;
  report.prompt_tokens = progress.processed;
  report.cached_tokens = progress.cached;
  report.prefill_seconds = progress.processed > progress.cached ? progress.seconds : 0;
  return timings(report);
}

Json ReplyWriter::longhaul(const JobReport& report) const {
  const auto dense = model_->port->most_bytes(MethodSpec::parse("dense"), report.prompt_tokens,
                                              report.reply_tokens);
  Json own;
  own["attention"] = request_.attention.text();
  if (!request_.adapter.empty()) own["adapter"] = request_.adapter;
  own["kv_bytes"] = report.kv_bytes;
  own["kv_bytes_dense"] = dense;
  own["pairs_share"] = report.pairs_share;
  own["kernels"] = model_->kernels;
  own["queue_ms"] = report.queue_seconds * 1000;
  own["read_ms"] = report.prefill_seconds * 1000;
  own["seed"] = request_.seed ? Json(*request_.seed) : Json();
  own["cache"] = cache_json(report.cache);
  if (!request_.documents.empty()) {
    own["documents"] = Json::array();
    for (const QuestionDocument& document : request_.documents) {
      own["documents"].push_back(document.id);
    }
  }
  if (sources_.is_object()) own.update(sources_);
  own["warnings"] = request_.warnings;
  for (const std::string& warning : report.warnings) own["warnings"].push_back(warning);
  return own;
}

}  // namespace longhaul::serve
