#pragma once
// Defines the limits of the resources that clients can use.

#include <chrono>
#include <cstddef>

namespace longhaul::http {

struct Limits {
  size_t header_bytes = 16 << 10;
  size_t fields = 100;
  size_t body_bytes = 32 << 20;
  size_t upload_bytes = (256 << 20) + (1 << 20);  ///< largest body of type multipart/form-data
  /// Largest total size of the bodies of all requests whose response has not begun.
  size_t bodies_bytes = size_t{1} << 30;
  size_t pipelined_bytes = 64 << 10;
  size_t connections = 1024;
  size_t connections_of_address = 128;
  size_t requests_of_connection = 1000;
  /// Largest number of bytes queued for a client that does not read.
  size_t stream_bytes = 256 << 10;

  std::chrono::milliseconds header_time{10'000};
  /// Time in which the body of a request must arrive. One second is added for each 256 KiB that
  /// have arrived.
  std::chrono::milliseconds body_time{30'000};
  std::chrono::milliseconds idle_time{60'000};
  /// If the client accepts no bytes of a response for this time, the connection is closed.
  std::chrono::milliseconds write_time{30'000};
  /// When a request has been rejected, the connection stays open for this time, so that the client
  /// can receive the response.
  std::chrono::milliseconds linger_time{2'000};
  /// An event stream sends a ping after this time without events.
  std::chrono::milliseconds ping_time{15'000};
};

}  // namespace longhaul::http
