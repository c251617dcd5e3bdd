#pragma once
// One request and the functions that respond to it, which may be called on any thread. An exchange
// does not depend on sockets, so connections, tests and fuzz targets can use it.

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
  std::string route;    ///< path pattern of the matching route, for counters; the handler sets it

  /// Sends a response. Only the first response has an effect.
  void reply(HttpResponse response);
  /// Responds with a stream of events.
  std::shared_ptr<EventStream> stream(
      std::string content_type = "text/event-stream; charset=utf-8");

  bool closed() const { return closed_; }
  /// Sets a function that is called once if the client closes its connection before the response is
  /// complete. If the connection is already closed, the function is called at once.
  void on_close(std::function<void()> gone);
  /// The connection calls this when the client has closed it.
  void close();

  /// Sets a remark for the log line of this request.
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
