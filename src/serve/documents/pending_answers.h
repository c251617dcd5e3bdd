#pragma once
// Answers to requests that add a document: they wait a moment for the end of its conversion, so
// that most problems are answered with a status of their own.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "http/exchange.h"

namespace longhaul::serve {

class PendingAnswers {
 public:
  using Make = std::function<http::HttpResponse()>;

  PendingAnswers();
  ~PendingAnswers();

  /// Answers with `late` after `wait`, unless take() comes first.
  void add(const std::string& id, std::shared_ptr<http::Exchange> exchange, Make late,
           std::chrono::milliseconds wait);
  /// The request that waits for this document, which the caller answers; null if it has its answer.
  std::shared_ptr<http::Exchange> take(const std::string& id);

 private:
  struct Waiting {
    std::shared_ptr<http::Exchange> exchange;
    Make late;
    std::chrono::steady_clock::time_point deadline;
  };
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Waiting> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longhaul::serve
