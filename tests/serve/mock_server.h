#pragma once
// The server without sockets: nano's tokenizer and templates, and an engine that computes nothing.

#include <gtest/gtest.h>

#include <condition_variable>
#include <thread>

#include "serve/scheduler/mock_engine.h"
#include "serve/service.h"

namespace longhaul::serve::testing_support {

/// An answer as a client sees it.
struct Answer {
  int status = 0;
  std::string body;  ///< or the whole stream
  http::Fields fields;

  Json json() const { return Json::parse(body); }
  /// The data of a stream's events.
  std::vector<std::string> events() const {
    std::vector<std::string> all;
    for (size_t at = 0; (at = body.find("data: ", at)) != std::string::npos;) {
      const size_t end = body.find("\n\n", at);
      all.push_back(body.substr(at + 6, end - at - 6));
      at = end;
    }
    return all;
  }
};

inline std::shared_ptr<const Engine> nano() {
  static const auto engine = Engine::open(std::string(LONGHAUL_MODELS) + "/nano");
  return engine;
}

class MockServer {
 public:
  explicit MockServer(MockSettings settings = {}, ServiceOptions options = {},
                      SchedulerOptions scheduling = {}, const std::filesystem::path& folder = {})
      : service_(std::move(options)) {
    settings.virtual_time = false;
    settings.layer_seconds = settings.layer_seconds_depth = 0;
    settings.decode_seconds = settings.decode_seconds_row = 0;
    settings.vocab = nano()->model().config.vocab;
    if (!settings.next) settings.next = [this](auto tokens) { return next_token(tokens); };
    model_ = std::make_shared<ServedModel>();
    model_->name = "nano";
    model_->engine = nano();
    model_->use_template(nano()->chat_template());
    model_->kv_type = "bf16";
    model_->context = scheduling.context;
    model_->memory_limit = scheduling.memory_limit = size_t{1} << 30;
    model_->port = std::make_unique<MockEngine>(settings);
    model_->scheduler = std::make_unique<Scheduler>(*model_->port, nano()->tokenizer(),
                                                    std::move(scheduling), service_.metrics());
    if (!folder.empty()) {
      model_->cache_folder = folder;
      model_->cache_fingerprint = kFingerprint;
      model_->scheduler->open_disk({.folder = folder, .fingerprint = kFingerprint});
    }
    service_.set_model(model_);
    thread_ = std::thread([this] { model_->scheduler->run(); });
  }
  ~MockServer() {
    model_->scheduler->stop();
    thread_.join();
  }

  /// The model's reply to every request.
  std::string reply = "Hello there, friend.";

  Service& service() { return service_; }
  ServedModel& model() { return *model_; }

  Answer get(const std::string& path) { return ask("GET", path, ""); }
  Answer post(const std::string& path, const Json& body, http::Fields fields = {}) {
    return ask("POST", path, body.dump(), std::move(fields));
  }
  Answer ask(const std::string& method, const std::string& path, const std::string& body,
             http::Fields fields = {}) {
    http::HttpRequest request;
    request.method = method;
    request.path = path.substr(0, path.find('?'));
    if (request.path.size() < path.size()) request.query = path.substr(request.path.size() + 1);
    request.body = body;
    request.fields = std::move(fields);
    request.fields.emplace_back("Host", "localhost");
    request.fields.emplace_back("Content-Type", "application/json");
    http::Fields reply_fields;
    if (const auto refusal = service_.check(request, reply_fields)) {
      return {refusal->status, refusal->body, refusal->fields};
    }
    return exchange(std::move(request));
  }

 private:
  static constexpr uint64_t kFingerprint = 7;

  Answer exchange(http::HttpRequest request) {
    std::mutex mutex;
    std::condition_variable changed;
    Answer answer;
    bool done = false;
    std::shared_ptr<http::EventStream> events;
    http::Exchange::Way way;
    way.reply = [&](http::HttpResponse response) {
      const std::lock_guard lock(mutex);
      answer = {response.status, response.body, response.fields};
      done = true;
      changed.notify_all();
    };
    way.stream = [&](http::HttpResponse header, std::shared_ptr<http::EventStream> stream) {
      const std::lock_guard lock(mutex);
      answer.status = header.status;
      events = std::move(stream);
      changed.notify_all();
    };
    const auto exchange = std::make_shared<http::Exchange>(std::move(request), std::move(way));
    service_.handle(exchange);
    std::unique_lock lock(mutex);
    for (int i = 0; i < 3000 && !done; ++i) {
      changed.wait_for(lock, std::chrono::milliseconds(10));
      if (!events) continue;
      answer.body += events->take();
      done = events->ended();
    }
    EXPECT_TRUE(done) << "no answer";
    return answer;
  }

  /// Says `reply` once, then ends. The mock's sequences hold prompt and reply so far.
  int32_t next_token(std::span<const int32_t> tokens) const {
    const Tokenizer& tokenizer = nano()->tokenizer();
    const std::vector<int32_t> said = tokenizer.encode(reply, {.add_special = false});
    // How much of the reply stands at the end of the sequence.
    for (size_t count = std::min(said.size(), tokens.size()); count > 0; --count) {
      if (std::equal(said.begin(), said.begin() + static_cast<ptrdiff_t>(count),
                     tokens.end() - static_cast<ptrdiff_t>(count))) {
        return count == said.size() ? *tokenizer.eos_id() : said[count];
      }
    }
    return said.front();
  }

  Service service_;
  std::shared_ptr<ServedModel> model_;
  std::thread thread_;
};

}  // namespace longhaul::serve::testing_support
