#pragma once
// A server: listening sockets, the network thread, and all connections.

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/address.h"
#include "http/connection.h"
#include "http/event_loop.h"

namespace longhaul::http {

struct ServerOptions {
  std::vector<ListeningSocket> sockets;
  std::shared_ptr<TlsIdentity> tls;  ///< null: plain, as always over Unix sockets
  Limits limits;
  std::function<std::optional<HttpResponse>(const HttpRequest&, Fields& reply_fields)> check;
  std::function<void(const std::shared_ptr<Exchange>&)> handle;
  std::function<void(const RequestRecord&)> done;
};

class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();  ///< closes open connections

  /// Starts the network thread.
  void start();
  /// Connections that are accepted from now on use this certificate. Callable from any thread.
  void use_tls(std::shared_ptr<TlsIdentity> identity);
  /// Accepts no more connections, and closes those between two requests; open answers continue.
  void drain();
  /// Waits until no connection is left, at most this long. Returns whether none is left.
  bool await_end(std::chrono::milliseconds most);

  size_t connections() const { return open_connections_; }
  EventLoop& loop() { return loop_; }

 private:
  struct Acceptor;

  void accepted(int descriptor, bool local);
  void closed(const Connection& connection);
  bool sweep();

  ServerOptions options_;
  ConnectionHost host_;  // before the loop, whose last tasks may hold connections
  EventLoop loop_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::map<std::string, size_t> of_address_;
  std::atomic<size_t> open_connections_ = 0;
  std::thread thread_;
};

}  // namespace longhaul::http
