#pragma once
// Addresses to listen on, and their sockets.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul::http {

/// An open listening socket.
struct ListeningSocket {
  int descriptor = -1;
  std::string name;       ///< as a client writes it: "127.0.0.1:8080", "unix:/run/longhaul"
  bool loopback = false;  ///< only programs on this machine can connect
};

/// Opens "HOST:PORT", "[IPV6]:PORT", "PORT" (on 127.0.0.1), "unix:PATH", or "systemd": the sockets
/// that the service manager has opened. HOST is an address or localhost; port 0 is any free one.
/// Throws UserError that names `text`.
std::vector<ListeningSocket> open_listening_sockets(const std::string& text);

/// The address of the client of a connected socket, without its port.
std::string peer_of(int descriptor);

}  // namespace longhaul::http
