#include "http/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>

#include "http/sockets.h"

namespace longhaul::http {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kSweep{200};
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{200};

}  // namespace

/// Accepts clients of one listening socket.
struct Server::Acceptor {
  Acceptor(Server& owner, const ListeningSocket& socket)
      : server(owner),
        descriptor(owner.loop_.sockets().context, socket.descriptor),
        timer(owner.loop_.sockets().context),
        local(socket.name.starts_with("unix:")) {}

  void wait() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [this](const boost::system::error_code& error) {
                            if (!error) accept_all();
                          });
  }

  void accept_all() {
    for (;;) {
      const int client =
          accept4(descriptor.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (client >= 0) {
        server.accepted(client, local);
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return wait();
      // The process has no free descriptors. The socket stays readable, so waiting for it would
      // spin.
      timer.expires_after(kPauseWithoutDescriptors);
      timer.async_wait([this](const boost::system::error_code& error) {
        if (!error) wait();
      });
      return;
    }
  }

  Server& server;
  asio::posix::stream_descriptor descriptor;
  asio::steady_timer timer;
  bool local;
};

Server::Server(ServerOptions options)
    : options_(std::move(options)), host_{loop_,
                                          options_.limits,
                                          options_.check,
                                          options_.handle,
                                          options_.done,
                                          [this](const Connection& connection) { closed(connection); }} {
  if (!host_.done) host_.done = [](const RequestRecord&) {};
  if (!host_.check) {
    host_.check = [](const HttpRequest&, Fields&) { return std::optional<HttpResponse>(); };
  }
  for (const ListeningSocket& socket : options_.sockets) {
    acceptors_.push_back(std::make_unique<Acceptor>(*this, socket));
  }
}

Server::~Server() {
  if (thread_.joinable()) {
    loop_.post([this] {
      for (const auto& connection : std::exchange(connections_, {})) connection->close();
      acceptors_.clear();
      loop_.stop();
    });
    thread_.join();
  }
}

void Server::start() {
  for (const auto& acceptor : acceptors_) acceptor->wait();
  loop_.every(kSweep, [this] { return sweep(); });
  thread_ = std::thread([this] { loop_.run(); });
}

void Server::accepted(int descriptor, bool local) {
  std::string peer = local ? "unix" : peer_of(descriptor);
  size_t& of_peer = of_address_[peer];
  if (open_connections_ >= options_.limits.connections ||
      (!local && of_peer >= options_.limits.connections_of_address)) {
    if (of_peer == 0) of_address_.erase(peer);
    close(descriptor);
    return;
  }
  ++of_peer;
  const auto stream = options_.tls && !local ? tls_stream(loop_, descriptor, options_.tls)
                                             : plain_stream(loop_, descriptor);
  connections_.push_back(std::make_shared<Connection>(host_, stream, std::move(peer)));
  ++open_connections_;
  connections_.back()->start();
}

void Server::closed(const Connection& connection) {
  const auto found = of_address_.find(connection.peer());
  if (--found->second == 0) of_address_.erase(found);
  --open_connections_;
}

bool Server::sweep() {
  const Clock::time_point now = Clock::now();
  for (const auto& connection : connections_) {
    if (host_.draining && connection->idle()) connection->close();
    connection->sweep(now);
  }
  std::erase_if(connections_,
                [](const std::shared_ptr<Connection>& connection) { return connection->closed(); });
  return true;
}

void Server::use_tls(std::shared_ptr<TlsIdentity> identity) {
  loop_.post([this, identity = std::move(identity)] { options_.tls = identity; });
}

void Server::drain() {
  loop_.post([this] {
    host_.draining = true;
    acceptors_.clear();
    sweep();
  });
}

bool Server::await_end(std::chrono::milliseconds most) {
  const Clock::time_point end = Clock::now() + most;
  while (open_connections_ > 0 && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return open_connections_ == 0;
}

}  // namespace longhaul::http
