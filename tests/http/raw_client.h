#pragma once
// A client that sends bytes as it likes, for tests of a server on loopback.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>

namespace longhaul::http::testing_support {

class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// Returns whether all of it could be sent.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  /// Reads until `end` stands in the text, the server closes, or ten seconds have passed. Returns
  /// the text up to and with `end`.
  std::string read_until(std::string_view end) {
    for (;;) {
      const size_t found = received_.find(end);
      if (found != std::string::npos) {
        std::string text = received_.substr(0, found + end.size());
        received_.erase(0, text.size());
        return text;
      }
      if (!receive()) return std::exchange(received_, {});
    }
  }

  /// Everything until the server closes.
  std::string read_all() {
    while (receive()) {
    }
    return std::exchange(received_, {});
  }

  /// A whole response with a Content-Length.
  std::string read_response() {
    std::string response = read_until("\r\n\r\n");
    const size_t field = response.find("Content-Length: ");
    if (field == std::string::npos) return response;
    const size_t length = std::stoul(response.substr(field + 16));
    while (received_.size() < length && receive()) {
    }
    response += received_.substr(0, length);
    received_.erase(0, length);
    return response;
  }

  bool closed_by_server() {
    while (receive()) {
    }
    return ended_;
  }

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  bool receive() {
    if (socket_ < 0 || ended_) return false;
    pollfd wait = {socket_, POLLIN, 0};
    if (::poll(&wait, 1, 10'000) <= 0) return false;
    char bytes[65536];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) {
      ended_ = true;
      return false;
    }
    received_.append(bytes, static_cast<size_t>(count));
    return true;
  }

  int socket_;
  bool ended_ = false;
  std::string received_;
};

}  // namespace longhaul::http::testing_support
