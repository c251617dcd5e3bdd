#pragma once
// An Exchange is one request, with functions that send the response. These functions may be called
// on any thread. An exchange does not depend on sockets, so that tests and fuzz targets can also
// use it.

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
    size_t stream_bytes = 256 << 10;  ///< limit of the queued bytes (Limits::stream_bytes)
  };

  Exchange(HttpRequest received, Way way) : request(std::move(received)), way_(std::move(way)) {}

  HttpRequest request;
  Fields reply_fields;  ///< fields that are added to the response's header
  /// Path pattern of the matching route, for the metrics; the handler sets it.
  std::string route;

  /// Sends a response. Only the first call of reply() or stream() has an effect.
  void reply(HttpResponse response);
  /// Begins a response that is a stream of events, and returns the stream.
  std::shared_ptr<EventStream> stream(
      std::string content_type = "text/event-stream; charset=utf-8");

  bool closed() const { return closed_; }
  /// Sets a function that is called once if the client closes its connection before the response is
  /// complete. If the connection is already closed, the function is called at once.
  void on_close(std::function<void()> gone);
  /// Connection calls this when the client has closed the connection.
  void close();

  /// Sets a text that the log line of this request contains.
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
