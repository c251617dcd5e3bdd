#pragma once
// A Server is an HTTP server. It has listening sockets, a network thread, and connections.

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
  std::shared_ptr<TlsIdentity> tls;  ///< null: no encryption; Unix sockets are never encrypted
  Limits limits;
  std::function<std::optional<HttpResponse>(const HttpRequest&, Fields& reply_fields)> check;
  std::function<void(const std::shared_ptr<Exchange>&)> handle;
  std::function<void(const RequestRecord&)> done;
};

class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();  ///< closes all connections

  /// Starts the network thread.
  void start();
  /// Sets the certificate for connections that will be accepted from now on. It may be called on
  /// any thread.
  void use_tls(std::shared_ptr<TlsIdentity> identity);
  /// Stops accepting connections. Closes connections that are between two requests, and the others
  /// when their current response is complete.
  void drain();
  /// Waits until all connections are closed, but not longer than `most`. Returns whether all are
  /// closed.
  bool await_end(std::chrono::milliseconds most);

  size_t connections() const { return open_connections_; }
  EventLoop& loop() { return loop_; }

 private:
  struct Acceptor;

  void accepted(int descriptor, bool local);
  void closed(const Connection& connection);
  bool sweep();

  ServerOptions options_;
  ConnectionHost host_;  // destroyed after loop_, whose tasks use it
  EventLoop loop_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::map<std::string, size_t> of_address_;
  std::atomic<size_t> open_connections_ = 0;
  std::thread thread_;
};

}  // namespace longhaul::http
