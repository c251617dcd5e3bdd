#pragma once
// EventLoop executes tasks and the handlers of sockets on one thread, the network thread. It uses
// the library Asio. This header does not include Asio; files that need it include http/sockets.h.

#include <chrono>
#include <functional>
#include <memory>

namespace longhaul::http {

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();

  void run();   ///< runs until stop()
  void stop();  ///< may be called on any thread
  /// Runs `task` on the loop's thread. It may be called on any thread.
  void post(std::function<void()> task);
  /// Calls `task` periodically on the loop's thread until it returns false.
  void every(std::chrono::milliseconds period, std::function<bool()> task);

  struct Sockets;
  Sockets& sockets() { return *sockets_; }

 private:
  std::unique_ptr<Sockets> sockets_;
};

}  // namespace longhaul::http
