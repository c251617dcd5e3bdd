#pragma once
// An EventStream sends events to one client. It is a queue between the thread that produces events
// and the network thread, which writes them to the socket. Events are server-sent events or lines
// of JSON.

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

  /// Appends a server-sent event with one line of data. Returns false if the client has closed the
  /// connection. All functions that append have this result.
  bool send(std::string_view data) { return push({"data: ", data, "\n\n"}, false); }
  /// Appends an event with a name.
  bool send_named(std::string_view name, std::string_view data) {
    return push({"event: ", name, "\ndata: ", data, "\n\n"}, false);
  }
  /// Appends bytes that consist of whole events.
  bool send_bytes(std::string_view bytes) { return push({bytes}, false); }
  /// Appends a comment line, which clients ignore. If the connection is lost, sending the comment
  /// reveals it.
  bool comment(std::string_view text) { return push({": ", text, "\n\n"}, false); }
  /// Appends a line without a prefix, for streams of JSON objects (NDJSON).
  bool send_line(std::string_view line) { return push({line, "\n"}, false); }
  /// Sets the bytes that ping() appends. By default they are a comment line.
  void set_ping(std::string bytes);
  /// Appends the bytes of set_ping(), which clients ignore. If the connection is lost, sending them
  /// reveals it.
  bool ping();
  /// Ends the stream.
  void finish() { push({}, true); }

  /// Returns whether the queue has more than `most_bytes` bytes. The producer should then wait,
  /// although further events are still accepted.
  bool full() const;
  bool closed() const;

  // Connection calls the following functions.
  std::string take();  ///< returns and removes everything in the queue
  bool ended() const;  ///< returns whether finish() was called and the queue is empty
  void close();        ///< clears the queue; from now on closed() is true
  /// Sets a function that is called when there is something to send: the queue was empty and has
  /// received an event, or finish() was called. It is called on the producer's thread.
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
