#pragma once
// The network thread's loop. Its sockets are Asio's; only files that include Asio see them.

#include <chrono>
#include <functional>
#include <memory>

namespace longhaul::http {

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();

  void run();   ///< until stop()
  void stop();  ///< from any thread
  /// Runs `task` on the loop's thread; from any thread.
  void post(std::function<void()> task);
  /// Calls `task` on the loop's thread until it returns false.
  void every(std::chrono::milliseconds period, std::function<bool()> task);

  struct Sockets;
  Sockets& sockets() { return *sockets_; }

 private:
  std::unique_ptr<Sockets> sockets_;
};

}  // namespace longhaul::http
