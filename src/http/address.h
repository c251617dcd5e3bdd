#pragma once
// Opens the sockets on which the server listens.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul::http {

/// An open listening socket.
struct ListeningSocket {
  int descriptor = -1;
  std::string name;       ///< address as users write it: "127.0.0.1:8080", "unix:/run/longhaul"
  bool loopback = false;  ///< whether only programs on this machine can connect
};

/// Opens listening sockets. `text` is "HOST:PORT", "[IPV6]:PORT", "PORT" (on 127.0.0.1),
/// "unix:PATH", or "systemd" for sockets that the service manager has opened. HOST is an IP address
/// or localhost. Port 0 means any free port. Throws a UserError that names `text` if it is invalid
/// or the address cannot be used.
std::vector<ListeningSocket> open_listening_sockets(const std::string& text);

/// Returns the IP address of the client to which a socket is connected, without the port.
std::string peer_of(int descriptor);

}  // namespace longhaul::http
