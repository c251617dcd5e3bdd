#pragma once
// When a client adds a document, the answer to the request is delayed for a moment. If the
// conversion fails quickly, the answer can then report the problem with its own status.

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

  /// Registers a request. If take() does not remove the request within `wait`, a thread sends the
  /// response that `late` makes.
  void add(const std::string& id, std::shared_ptr<http::Exchange> exchange, Make late,
           std::chrono::milliseconds wait);
  /// Returns the waiting request of this document, which the caller must answer. Returns null if
  /// the request has been answered.
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
