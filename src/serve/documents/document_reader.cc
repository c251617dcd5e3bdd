#include "serve/documents/document_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "documents/text_limit.h"
#include "serve/api/api_error.h"
#include "serve/documents/document_prompt.h"

namespace longhaul::serve {
namespace {

constexpr int kConversions = 2;  // at once
constexpr std::chrono::milliseconds kWaitForConversion{2000};
constexpr size_t kMostWaitingBytes = size_t{1} << 30;
constexpr std::chrono::seconds kRetry{1};  // while the scheduler accepts nothing

JobError converter_gone() {
  return {503, "server_error", "converter_unavailable",
          "documents cannot be converted: the process for it has ended", 5};
}

ResumeRule resume_rule_of(const ServedModel& model, const MethodSpec& attention) {
  return attention.make(model.engine->model().shape)->resume_rule(model.session.chunk);
}

JobError job_error(const ApiError& error) {
  return {error.status, error.type, error.code, error.what()};
}

http::HttpResponse accepted(Json json) {
  http::HttpResponse response;
  response.status = 202;
  response.body = serve::text_of(json);
  return response;
}

const char* code_of(DocumentError::Problem problem) {
  using Problem = DocumentError::Problem;
  switch (problem) {
    case Problem::kUnsupported:
      return "unsupported_format";
    case Problem::kNoText:
      return "no_text";
    case Problem::kEncrypted:
      return "encrypted";
    case Problem::kTooLong:
      return "text_too_long";
    case Problem::kTooSlow:
      return "conversion_timeout";
    case Problem::kTooLarge:
      return "conversion_memory";
    case Problem::kUnreadable:
      break;
  }
  return "conversion_failed";
}

}  // namespace

JobError error_of_document(const DocumentError& error) {
  JobError made{422, "invalid_request_error", code_of(error.problem), error.what()};
  if (error.problem == DocumentError::Problem::kUnsupported) {
    made.status = 415;
    made.formats = document_formats();
  }
  return made;
}

/// Follows the prefill of a document on the engine's thread.
class DocumentReader::Sink : public JobSink {
 public:
  Sink(DocumentReader& reader, std::shared_ptr<ServedDocument> document)
      : reader_(reader), document_(std::move(document)) {}

  void progress(const PromptProgress& progress) override {
    reader_.store_.change(*document_, [&](ServedDocument& document) {
      const PromptProgress before = document.progress;
      document.status = DocumentStatus::kReading;
      document.progress = progress;
      const int64_t count = progress.processed - std::max(before.processed, progress.cached);
      if (count > 0) {
        document.time.add(std::max(before.processed, progress.cached), count, 1, progress.seconds,
                          progress.attention_seconds);
      }
      const double left = document.time.left(progress.total);
      if (left > 0) document.seconds_left = left;
    });
    document_->gate->report(progress.processed, progress.total);
  }
  void prompt_tokens(std::vector<TokenReport>) override {}
  void prefilled(const ServedSequence& sequence) override {
    auto map = std::make_shared<RetentionMap>(sequence.retention());
    reader_.store_.change(*document_,
                          [&](ServedDocument& document) { document.map = std::move(map); });
  }
  void piece(int, const ReplyPiece&, const JobReport&) override {}
  void done(const JobReport& report) override {
    document_->gate->open();
    constexpr int64_t kLeastMeasured = 1024;
    if (report.cached_tokens == 0 && report.prompt_tokens >= kLeastMeasured) {
      std::optional<PrefillTime> time;
      reader_.store_.look(*document_,
                          [&](const ServedDocument& document) { time = document.time; });
      reader_.store_.measured(*time);
    }
    reader_.store_.change(*document_, [&](ServedDocument& document) {
      document.status = DocumentStatus::kReady;
      document.progress.processed = document.progress.total = report.prompt_tokens;
      document.progress.cached = report.cached_tokens;
      document.progress.seconds = report.prefill_seconds;
      document.seconds_left = 0;
      document.kv_bytes = report.kv_bytes;
      document.job.reset();
    });
    reader_.prefill_ended();
  }
  void failed(const JobError& error) override {
    reader_.fail(document_, error);
    reader_.prefill_ended();
  }

 private:
  DocumentReader& reader_;
  std::shared_ptr<ServedDocument> document_;
};

DocumentReader::DocumentReader(DocumentStore& store,
                               std::shared_ptr<const ConverterProcess> converter)
    : store_(store), converter_(std::move(converter)) {
  for (int i = 0; i < kConversions; ++i) threads_.emplace_back([this] { run(); });
}

DocumentReader::~DocumentReader() { stop(); }

void DocumentReader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (converter_) converter_->end();
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void DocumentReader::convert(std::shared_ptr<const ServedModel> model,
                             std::shared_ptr<ServedDocument> document, Source source,
                             std::shared_ptr<http::Exchange> exchange) {
  if (!alive()) {
    const JobError gone = converter_gone();
    throw ApiError(gone.status, gone.type, gone.code, gone.message);
  }
  answers_.add(
      document->id, std::move(exchange),
      [this, document] { return accepted(store_.json(*document)); }, kWaitForConversion);
  {
    const std::lock_guard lock(mutex_);
    if (waiting_bytes_ + source.bytes.size() > kMostWaitingBytes) {
      answers_.take(document->id);
      throw ApiError(503, "server_error", "overloaded",
                     "too many documents wait for their conversion");
    }
    waiting_bytes_ += source.bytes.size();
    conversions_.push_back({std::move(model), std::move(document), std::move(source)});
  }
  changed_.notify_one();
}

void DocumentReader::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!conversions_.empty()) {
      Conversion next = std::move(conversions_.front());
      conversions_.pop_front();
      const size_t bytes = next.source.bytes.size();
      lock.unlock();
      convert_one(next);
      lock.lock();
      waiting_bytes_ -= bytes;
      continue;
    }
    if (!unwritten_.empty()) {
      const std::shared_ptr<ServedDocument> document = std::move(unwritten_.front());
      unwritten_.pop_front();
      lock.unlock();
      try {
        write(*document);
      } catch (const UserError&) {  // the file from before the prefill remains
      }
      lock.lock();
      continue;
    }
    const bool waits = !prefilling_ && !prefills_.empty();
    if (waits) {
      changed_.wait_for(lock, kRetry);
      lock.unlock();
      start_prefill();
      lock.lock();
    } else {
      changed_.wait(lock);
    }
  }
}

std::shared_ptr<const DocumentText> DocumentReader::text_of(const Conversion& conversion) const {
  DocumentOptions options;
  options.limit = text_limit(conversion.model->context, conversion.model->memory_limit);
  options.pages = conversion.source.pages;
  ConvertedDocument converted =
      converter_->convert(conversion.source.bytes, conversion.document->wish.name, options);
  return std::make_shared<const DocumentText>(std::move(converted.document),
                                              std::move(converted.warnings));
}

void DocumentReader::convert_one(Conversion& conversion) {
  const std::shared_ptr<ServedDocument> document = conversion.document;
  guard_document(document, [&] {
    auto text = text_of(conversion);
    conversion.source.bytes = {};
    store_.check_room(text->document.text.size());
    prefill(conversion.model, document, std::move(text));
    settle(document);
  });
}

/// Runs `work`, whose problems become those of the document.
void DocumentReader::guard_document(const std::shared_ptr<ServedDocument>& document,
                                    const std::function<void()>& work) {
  try {
    work();
  } catch (const DocumentError& error) {
    fail(document, error_of_document(error));
  } catch (const ConverterGone&) {
    fail(document, converter_gone());
  } catch (const ApiError& error) {
    fail(document, job_error(error));
  } catch (const RefusedPrompt& refused) {
    fail(document, refused.error);
  } catch (const UserError& error) {
    fail(document, {422, "invalid_request_error", "conversion_failed", error.what()});
  } catch (const std::bad_alloc&) {
    fail(document, {503, "server_error", "overloaded", "out of memory", 5});
  } catch (const std::exception& error) {
    fail(document, {500, "server_error", "internal_error", error.what()});
  }
}

void DocumentReader::prefill(std::shared_ptr<const ServedModel> model,
                             std::shared_ptr<ServedDocument> document,
                             std::shared_ptr<const DocumentText> text) {
  prefill(std::move(model), std::move(document), std::move(text), true);
}

/// `writes`: a document that shall persist is written to its file.
void DocumentReader::prefill(std::shared_ptr<const ServedModel> model,
                             std::shared_ptr<ServedDocument> document,
                             std::shared_ptr<const DocumentText> text, bool writes) {
  if (document->wish.is_file) {
    store_.change(*document, [&](ServedDocument& changed) {
      changed.warnings = text->warnings;
      changed.text = std::move(text);
      changed.status = DocumentStatus::kReady;
    });
    document->gate->open();
    return;
  }
  const MethodSpec attention = method_of_request(*model, document->wish.attention);
  const ResumeRule rule = resume_rule_of(*model, attention);
  DocumentPrefix prefix = document_prefix(*model, document->wish.system, text->document.text);
  if (const auto refusal = prompt_refusal(*model, attention, std::ssize(prefix.tokens))) {
    throw RefusedPrompt(*refusal);
  }
  const bool changed = store_.change(*document, [&](ServedDocument& added) {
    added.warnings.insert(added.warnings.end(), text->warnings.begin(), text->warnings.end());
    added.text = std::move(text);
    added.progress.total = std::ssize(prefix.tokens);
    added.tokens = std::move(prefix.tokens);
    added.text_begin = prefix.text_begin;
    added.status = DocumentStatus::kQueued;
    if (rule.group != ResumeGroup::kQuestion) return;
    added.status = DocumentStatus::kReady;
    added.warnings.push_back(
        fmt::format("{} selects by the question, so the document is read with every question",
                    attention.info().name));
  });
  if (!changed) return;
  if (writes && files_ && document->wish.persist) write_first(*document);
  if (rule.group == ResumeGroup::kQuestion) return document->gate->open();
  add_prefill(std::move(model), std::move(document));
}

void DocumentReader::add_prefill(std::shared_ptr<const ServedModel> model,
                                 std::shared_ptr<ServedDocument> document) {
  {
    const std::lock_guard lock(mutex_);
    prefills_.push_back({std::move(model), std::move(document)});
  }
  start_prefill();
}

/// Throws ApiError if the disk cannot take the document.
void DocumentReader::write_first(ServedDocument& document) {
  try {
    write(document);
  } catch (const UserError& error) {
    throw ApiError(507, "server_error", "insufficient_storage",
                   fmt::format("the document cannot be kept: {}", error.what()), "persist");
  }
}

void DocumentReader::write(ServedDocument& document) {
  StoredDocument stored;
  bool deleted = false;
  store_.look(document, [&](const ServedDocument& seen) {
    deleted = seen.deleted;
    stored = {seen.id, seen.key,    seen.created,    seen.wish,     seen.text,
              0,       seen.tokens, seen.text_begin, seen.kv_bytes, seen.map};
  });
  if (deleted) return;
  files_->write(stored);
  store_.look(document, [&](const ServedDocument& seen) { deleted = seen.deleted; });
  if (deleted) files_->remove(document.id);
}

/// Called on the engine's thread when the snapshot is on disk or cannot be written.
void DocumentReader::saved(const std::shared_ptr<ServedDocument>& document,
                           const std::string& error) {
  store_.change(*document, [&](ServedDocument& changed) {
    changed.saved = error.empty();
    if (!error.empty()) {
      changed.warnings.push_back("will be read again after a restart: " + error);
    }
  });
  {
    const std::lock_guard lock(mutex_);
    unwritten_.push_back(document);
  }
  changed_.notify_one();
}

void DocumentReader::restore(const std::shared_ptr<const ServedModel>& model,
                             StoredDocument stored) {
  const auto document = std::make_shared<ServedDocument>();
  document->id = stored.id;
  document->key = stored.key;
  document->created = stored.created;
  document->wish = stored.wish;
  document->text = stored.text;
  document->warnings = stored.text->warnings;
  model_ = model;
  const auto& pins = model->scheduler->stored_pins();
  const bool ready =
      pins.contains(stored.id) && stored.fingerprint == files_->fingerprint() && stored.map;
  if (ready) {
    document->status = DocumentStatus::kReady;
    document->tokens = std::move(stored.tokens);
    document->text_begin = stored.text_begin;
    document->kv_bytes = stored.kv_bytes;
    document->map = std::move(stored.map);
    document->progress.total = document->progress.processed = std::ssize(document->tokens);
    document->seconds_left = 0;
    document->saved = true;
    document->gate->open();
  }
  store_.add_existing(document);
  if (ready) return;
  document->warnings.clear();
  guard_document(document, [&] { prefill(model, document, stored.text, false); });
}

void DocumentReader::read_again(const std::string& id) {
  const auto document = store_.find_of_any_key(id);
  const auto model = model_.lock();
  if (document == nullptr || model == nullptr) return;
  bool again = false;
  store_.change(*document, [&](ServedDocument& changed) {
    again = changed.status == DocumentStatus::kReady;
    if (!again) return;
    changed.status = DocumentStatus::kQueued;
    changed.saved = false;
    changed.progress.processed = 0;
  });
  if (again) add_prefill(model, document);
}

/// Submits the prefill of the next document, unless another one runs.
void DocumentReader::start_prefill() {
  Prefill next;
  {
    const std::lock_guard lock(mutex_);
    if (prefilling_ || prefills_.empty() || stopping_) return;
    prefilling_ = true;
    next = std::move(prefills_.front());
    prefills_.pop_front();
  }
  const auto job = std::make_shared<Job>();
  const bool exists = store_.change(*next.document, [&](ServedDocument& document) {
    job->key = document.key;
    job->attention = method_of_request(*next.model, document.wish.attention);
    // Methods that read a text densely and evict at its end evict anew for each question.
    if (resume_rule_of(*next.model, job->attention).group == ResumeGroup::kDense) {
      job->attention = MethodSpec::parse("dense");
    }
    job->prompt = document.tokens;
    job->reply.max_tokens = 0;
    job->progress = true;
    job->background = true;
    job->pin = document.id;
    document.job = job;
    if (!files_ || !document.wish.persist) return;
    job->saved = [this, kept = next.document](const std::string& error) { saved(kept, error); };
  });
  if (!exists) return prefill_ended();
  job->sink = std::make_shared<Sink>(*this, next.document);
  const auto error = next.model->scheduler->submit(job);
  if (!error) return;
  store_.change(*next.document, [](ServedDocument& document) { document.job.reset(); });
  {
    const std::lock_guard lock(mutex_);
    prefills_.push_front(std::move(next));
    prefilling_ = false;
  }
  changed_.notify_one();  // a thread tries it again
}

void DocumentReader::prefill_ended() {
  {
    const std::lock_guard lock(mutex_);
    prefilling_ = false;
  }
  start_prefill();
}

void DocumentReader::forget(const std::shared_ptr<ServedDocument>& document) {
  settle(document);
  if (files_ && document->wish.persist) files_->remove(document->id);
  const std::lock_guard lock(mutex_);
  std::erase_if(prefills_, [&](const Prefill& prefill) { return prefill.document == document; });
}

void DocumentReader::when_converted(const std::shared_ptr<ServedDocument>& document,
                                    std::function<void()> task) {
  bool converting = false;
  {
    const std::lock_guard lock(mutex_);
    store_.look(*document, [&](const ServedDocument& seen) {
      converting = seen.status == DocumentStatus::kConverting && !seen.deleted;
    });
    if (converting) waiters_.emplace_back(document, std::move(task));
  }
  if (!converting) task();
}

/// Answers the request that added the document, and lets those continue that wait for its text.
void DocumentReader::settle(const std::shared_ptr<ServedDocument>& document) {
  if (const auto exchange = answers_.take(document->id)) {
    exchange->reply(accepted(store_.json(*document)));
  }
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiters_, [&](auto& waiter) {
      if (waiter.first.lock() != document) return false;
      tasks.push_back(std::move(waiter.second));
      return true;
    });
  }
  for (const auto& task : tasks) task();
}

void DocumentReader::fail(const std::shared_ptr<ServedDocument>& document, const JobError& error) {
  document->gate->fail(error);
  store_.change(*document, [&](ServedDocument& failed) {
    failed.status = DocumentStatus::kFailed;
    failed.error = error;
    failed.job.reset();
  });
  if (const auto exchange = answers_.take(document->id)) {
    store_.drop(*document);
    if (files_ && document->wish.persist) files_->remove(document->id);
    exchange->reply(response_of(error, ""));
  }
  settle(document);
}

}  // namespace longhaul::serve
