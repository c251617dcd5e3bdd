#include "http/address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/parse_number.h"
#include "text/printable.h"

namespace longhaul::http {
namespace {

constexpr int kBacklog = 1024;
constexpr int kFirstOfSystemd = 3;

struct BoundAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

bool parse_ip(const std::string& host, uint16_t port, BoundAddress& address) {
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.length = sizeof *v4;
    return true;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.length = sizeof *v6;
    return true;
  }
  return false;
}

BoundAddress parse_tcp(const std::string& text) {
  const size_t colon = text.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (host == "localhost") host = "127.0.0.1";
  int number = 0;
  BoundAddress address;
  if (!parse_number(port, number) || number < 0 || number > 65535 ||
      !parse_ip(host, static_cast<uint16_t>(number), address)) {
    user_error("--listen {}: give ADDRESS:PORT such as 127.0.0.1:8080, unix:PATH or systemd",
               printable(text));
  }
  return address;
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_UNIX) return true;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

std::string ip_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text,
              sizeof text);
  }
  return text;
}

/// Name and scope of a bound socket.
ListeningSocket describe(int descriptor) {
  BoundAddress bound;
  bound.length = sizeof bound.storage;
  getsockname(descriptor, bound.get(), &bound.length);
  ListeningSocket socket{descriptor, "", is_loopback(bound.storage)};
  if (bound.storage.ss_family == AF_UNIX) {
    socket.name = std::string("unix:") + reinterpret_cast<sockaddr_un&>(bound.storage).sun_path;
  } else if (bound.storage.ss_family == AF_INET) {
    socket.name = fmt::format("{}:{}", ip_text(bound.storage),
                              ntohs(reinterpret_cast<sockaddr_in&>(bound.storage).sin_port));
  } else {
    socket.name = fmt::format("[{}]:{}", ip_text(bound.storage),
                              ntohs(reinterpret_cast<sockaddr_in6&>(bound.storage).sin6_port));
  }
  return socket;
}

[[noreturn]] void refuse_address(const std::string& text, int descriptor) {
  const std::string reason =
      errno == EADDRINUSE ? "another program listens there" : std::strerror(errno);
  if (descriptor >= 0) close(descriptor);
  user_error("--listen {}: {}", printable(text), reason);
}

ListeningSocket listen_at(const std::string& text, BoundAddress address) {
  const int descriptor =
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) refuse_address(text, descriptor);
  const int on = 1;
  if (address.storage.ss_family != AF_UNIX) {
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (address.storage.ss_family == AF_INET6) {
    setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (bind(descriptor, address.get(), address.length) != 0 || listen(descriptor, kBacklog) != 0) {
    refuse_address(text, descriptor);
  }
  return describe(descriptor);
}

/// A socket file that an ended server left is not in use: no process accepts connections on it.
void remove_stale_socket(const std::string& path, BoundAddress address) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool refused = connect(probe, address.get(), address.length) != 0 && errno == ECONNREFUSED;
  close(probe);
  if (refused) unlink(path.c_str());
}

ListeningSocket listen_at_path(const std::string& text, const std::string& path) {
  BoundAddress address;
  auto* local = reinterpret_cast<sockaddr_un*>(&address.storage);
  if (path.empty() || path.size() >= sizeof local->sun_path) {
    user_error("--listen {}: the path has 1 to {} bytes", printable(text),
               sizeof local->sun_path - 1);
  }
  local->sun_family = AF_UNIX;
  std::memcpy(local->sun_path, path.c_str(), path.size() + 1);
  address.length = sizeof *local;
  remove_stale_socket(path, address);
  return listen_at(text, address);
}

std::vector<ListeningSocket> sockets_of_systemd(const std::string& text) {
  const char* pid = std::getenv("LISTEN_PID");
  const char* given = std::getenv("LISTEN_FDS");
  int owner = 0, count = 0;
  if (pid == nullptr || given == nullptr || !parse_number(pid, owner) || owner != getpid() ||
      !parse_number(given, count) || count < 1 || count > 64) {
    user_error("--listen {}: no service manager has given this program a socket", text);
  }
  std::vector<ListeningSocket> sockets;
  for (int i = 0; i < count; ++i) {
    const int descriptor = kFirstOfSystemd + i;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    sockets.push_back(describe(descriptor));
  }
  return sockets;
}

}  // namespace

std::vector<ListeningSocket> open_listening_sockets(const std::string& text) {
  if (text == "systemd") return sockets_of_systemd(text);
  if (text.starts_with("unix:")) return {listen_at_path(text, text.substr(5))};
  return {listen_at(text, parse_tcp(text))};
}

std::string peer_of(int descriptor) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      address.ss_family == AF_UNIX) {
    return "unix";
  }
  return ip_text(address);
}

}  // namespace longhaul::http
