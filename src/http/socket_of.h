#pragma once
// Converts the descriptor of a connected socket (TCP or Unix) to a socket of Asio.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

namespace longhaul::http {

using Socket = boost::asio::generic::stream_protocol::socket;

inline Socket socket_of(boost::asio::io_context& context, int descriptor) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
  if (address.ss_family != AF_UNIX) {
    const int on = 1;  // sends small events without delay (TCP_NODELAY)
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  Socket socket(context);
  boost::system::error_code error;
  socket.assign(boost::asio::generic::stream_protocol(address.ss_family, 0), descriptor, error);
  socket.non_blocking(true, error);
  return socket;
}

}  // namespace longhaul::http
