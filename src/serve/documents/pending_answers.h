#pragma once
// Delays the response to a request that adds a document. If the conversion fails quickly, the
// response can then have the status of this error. Otherwise it reports that the document is being
// converted.

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

  /// Registers a request that adds the document `id`. If take() does not remove the request within
  /// `wait`, a thread sends the response that `late` returns.
  void add(const std::string& id, std::shared_ptr<http::Exchange> exchange, Make late,
           std::chrono::milliseconds wait);
  /// Removes and returns the waiting request of document `id`. The caller must respond to it.
  /// Returns null if the response has already been sent.
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
