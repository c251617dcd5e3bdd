#pragma once
// Limits of the server's resources for one client, and for all of them together.

#include <chrono>
#include <cstddef>

namespace longhaul::http {

struct Limits {
  size_t header_bytes = 16 << 10;
  size_t fields = 100;
  size_t body_bytes = 32 << 20;
  size_t upload_bytes = (256 << 20) + (1 << 20);  ///< longest body of type multipart/form-data
  size_t bodies_bytes = size_t{1} << 30;          ///< sum over requests that are being received
  size_t pipelined_bytes = 64 << 10;
  size_t connections = 1024;
  size_t connections_of_address = 128;
  size_t requests_of_connection = 1000;
  size_t stream_bytes = 256 << 10;  ///< most bytes queued for a client that does not read

  std::chrono::milliseconds header_time{10'000};
  std::chrono::milliseconds body_time{30'000};  ///< plus a second for each 256 KiB received
  std::chrono::milliseconds idle_time{60'000};
  std::chrono::milliseconds write_time{30'000};  ///< without any byte accepted by the client
  std::chrono::milliseconds linger_time{2'000};  ///< after a refusal, so that it arrives
  std::chrono::milliseconds ping_time{15'000};   ///< silence of a stream before a comment line
};

}  // namespace longhaul::http
