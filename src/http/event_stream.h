#pragma once
// Events on their way to one client: a bounded queue between the thread that makes them and the
// thread that owns the socket. Events are server-sent events or lines of JSON.

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

  /// Appends one event with one line of data. Returns false if the client has closed the
  /// connection.
  bool send(std::string_view data) { return push({"data: ", data, "\n\n"}, false); }
  /// Appends an event with a name.
  bool send_named(std::string_view name, std::string_view data) {
    return push({"event: ", name, "\ndata: ", data, "\n\n"}, false);
  }
  /// Appends bytes that consist of whole events.
  bool send_bytes(std::string_view bytes) { return push({bytes}, false); }
  /// Sends a line that clients ignore, so that they notice a lost connection.
  bool comment(std::string_view text) { return push({": ", text, "\n\n"}, false); }
  /// Appends a line without a prefix, for streams of JSON objects (NDJSON).
  bool send_line(std::string_view line) { return push({line, "\n"}, false); }
  /// Replaces the bytes that ping() appends, which are a comment by default.
  void set_ping(std::string bytes);
  /// Appends bytes without a meaning, so that both sides notice a lost connection.
  bool ping();
  /// Ends the stream.
  void finish() { push({}, true); }

  /// Whether the queue is full, so that the producer should wait. The queue still accepts more.
  bool full() const;
  bool closed() const;

  // For the connection.
  std::string take();  ///< everything in the queue
  bool ended() const;  ///< finish() was called, and the queue is empty
  void close();        ///< the client has closed the connection: drops the queue
  /// `wake` is called on the producer's thread whenever the queue becomes nonempty, or ends.
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
