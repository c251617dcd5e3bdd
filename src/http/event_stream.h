#pragma once
// A stream of events to one client. It is a bounded queue between the thread that produces events
// and the thread that owns the socket. Events are server-sent events or lines of JSON.

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace longhaul::http {

class EventStream {
 public:
  explicit EventStream(size_t most_bytes) : most_(most_bytes) {}

  /// Appends an event with one line of data. Returns false if the client has closed the connection.
  bool send(std::string_view data) { return push({"data: ", data, "\n\n"}, false); }
  /// Appends an event with a name.
  bool send_named(std::string_view name, std::string_view data) {
    return push({"event: ", name, "\ndata: ", data, "\n\n"}, false);
  }
  /// Appends bytes that consist of whole events.
  bool send_bytes(std::string_view bytes) { return push({bytes}, false); }
  /// Appends a comment line, which clients ignore. It makes a lost connection noticeable.
  bool comment(std::string_view text) { return push({": ", text, "\n\n"}, false); }
  /// Appends a line without a prefix, for streams of JSON objects (NDJSON).
  bool send_line(std::string_view line) { return push({line, "\n"}, false); }
  /// Sets the bytes that ping() appends. By default they are a comment line.
  void set_ping(std::string bytes);
  /// Appends bytes without a meaning, so that both sides notice a lost connection.
  bool ping();
  /// Ends the stream.
  void finish() { push({}, true); }

  /// Returns whether the queue is full, in which case the producer should wait. More events are
  /// still accepted.
  bool full() const;
  bool closed() const;

  // The following functions are for the connection.
  std::string take();  ///< returns and removes everything in the queue
  bool ended() const;  ///< returns whether finish() was called and the queue is empty
  void close();        ///< called when the client has closed the connection; clears the queue
  /// Sets a function that is called on the producer's thread when the queue becomes nonempty or
  /// ends.
  void on_data(std::function<void()> wake);

 private:
  bool push(std::initializer_list<std::string_view> parts, bool last);

  const size_t most_;
  mutable std::mutex mutex_;
  std::string queue_;
  std::string ping_ = ": ping\n\n";
  bool finished_ = false, closed_ = false, woken_ = false;
  std::function<void()> wake_;
};

}  // namespace longhaul::http
