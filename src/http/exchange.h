#pragma once
// One request and the functions that answer it, from any thread. It does not depend on sockets, so
// connections, tests and fuzz targets can all use it.

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
  std::string route;    ///< the path as in the router, for counters; set by the handler

  /// Sends an answer. Only the first of several answers counts.
  void reply(HttpResponse response);
  /// Answers with a stream of events.
  std::shared_ptr<EventStream> stream(
      std::string content_type = "text/event-stream; charset=utf-8");

  bool closed() const { return closed_; }
  /// `gone` is called once if the client closes its connection before the answer is complete; at
  /// once if it already has.
  void on_close(std::function<void()> gone);
  /// For the connection.
  void close();

  /// A remark for the log line of this request.
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
