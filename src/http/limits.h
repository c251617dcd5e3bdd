#pragma once
// Resource limits of the server, per client and for all clients together.

#include <chrono>
#include <cstddef>

namespace longhaul::http {

struct Limits {
  size_t header_bytes = 16 << 10;
  size_t fields = 100;
  size_t body_bytes = 32 << 20;
  size_t upload_bytes = (256 << 20) + (1 << 20);  ///< largest body of type multipart/form-data
  /// Limit for the bodies of all requests that are being received.
  size_t bodies_bytes = size_t{1} << 30;
  size_t pipelined_bytes = 64 << 10;
  size_t connections = 1024;
  size_t connections_of_address = 128;
  size_t requests_of_connection = 1000;
  /// Largest number of bytes queued for a client that does not read.
  size_t stream_bytes = 256 << 10;

  std::chrono::milliseconds header_time{10'000};
  /// Time for receiving the body of a request. One second is added for each 256 KiB received.
  std::chrono::milliseconds body_time{30'000};
  std::chrono::milliseconds idle_time{60'000};
  /// Longest time in which the client may accept no byte.
  std::chrono::milliseconds write_time{30'000};
  /// Time after a rejection in which the client can receive it.
  std::chrono::milliseconds linger_time{2'000};
  /// Time without events after which a stream sends a comment line.
  std::chrono::milliseconds ping_time{15'000};
};

}  // namespace longhaul::http
