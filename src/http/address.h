#pragma once
// Opens the addresses on which the server listens.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul::http {

/// An open listening socket.
struct ListeningSocket {
  int descriptor = -1;
  std::string name;       ///< as clients write it: "127.0.0.1:8080", "unix:/run/longhaul"
  bool loopback = false;  ///< whether only programs on this machine can connect
};

/// Opens listening sockets. `text` is "HOST:PORT", "[IPV6]:PORT", "PORT" (on 127.0.0.1),
/// "unix:PATH", or "systemd" for sockets that the service manager has opened. HOST is an address or
/// localhost, and port 0 means any free port. Throws UserError that names `text`.
std::vector<ListeningSocket> open_listening_sockets(const std::string& text);

/// Returns the address of the client of a connected socket, without its port.
std::string peer_of(int descriptor);

}  // namespace longhaul::http
