#pragma once
// Server-sent events on their way to one client: a bounded queue between the thread that makes them
// and the thread that owns the socket.

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

  /// Appends one event of one line of data. Returns false where the client is gone.
  bool send(std::string_view data) { return push({"data: ", data, "\n\n"}, false); }
  /// Appends an event with a name.
  bool send_named(std::string_view name, std::string_view data) {
    return push({"event: ", name, "\ndata: ", data, "\n\n"}, false);
  }
  /// A line that clients ignore and that shows that the server is there.
  bool comment(std::string_view text) { return push({": ", text, "\n\n"}, false); }
  /// Nothing follows.
  void finish() { push({}, true); }

  /// Whether as much waits as may: the maker of events should wait. More is accepted all the same.
  bool full() const;
  bool closed() const;

  // For the connection.
  std::string take();  ///< everything that waits
  bool ended() const;  ///< finish() was called, and nothing waits
  void close();        ///< the client is gone: what waits is dropped
  /// `wake` is called on the maker's thread whenever the queue stops being empty, or ends.
  void on_data(std::function<void()> wake);

 private:
  bool push(std::initializer_list<std::string_view> parts, bool last);

  const size_t most_;
  mutable std::mutex mutex_;
  std::string queue_;
  bool finished_ = false, closed_ = false, woken_ = false;
  std::function<void()> wake_;
};

}  // namespace longhaul::http
