#pragma once
// One request and the way to answer it, from any thread. It knows no socket: a connection, a test
// or a fuzz target stands behind it.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "http/event_stream.h"
#include "http/message.h"

namespace longhaul::http {

class Exchange {
 public:
  struct Way {
    std::function<void(HttpResponse)> reply;
    std::function<void(HttpResponse header, std::shared_ptr<EventStream>)> stream;
    size_t stream_bytes = 256 << 10;  ///< Limits::stream_bytes
  };

  Exchange(HttpRequest received, Way way) : request(std::move(received)), way_(std::move(way)) {}

  HttpRequest request;
  Fields reply_fields;  ///< added to the answer's header
  std::string route;    ///< the path as the router has it, for counters; set by the handler

  /// Answers. Of several answers only the first counts.
  void reply(HttpResponse response);
  /// Answers with a stream of events.
  std::shared_ptr<EventStream> stream();

  bool closed() const { return closed_; }
  /// `gone` is called once when the client closes its connection before the answer is complete; at
  /// once where it already has.
  void on_close(std::function<void()> gone);
  /// For the connection.
  void close();

  /// Words for the log line of this request.
  void set_note(std::string note);
  std::string note();

 private:
  Way way_;
  std::atomic<bool> answered_ = false, closed_ = false;
  std::mutex mutex_;
  std::function<void()> gone_;
  std::string note_;
};

}  // namespace longhaul::http
