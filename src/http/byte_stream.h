#pragma once
// Bytes to and from one client, plain or encrypted.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/event_loop.h"

namespace longhaul::http {

/// All calls run on the loop's thread. At most one read and one write are pending at a time. A
/// handler is never called from within the call that passed it, and not after close().
class ByteStream {
 public:
  /// `open`: false at the end of the client's bytes, and after an error.
  using ReadHandler = std::function<void(bool open, std::string_view bytes)>;
  using WriteHandler = std::function<void(bool open)>;

  virtual ~ByteStream() = default;
  /// Waits for bytes, which are valid during the call.
  virtual void read(ReadHandler handler) = 0;
  virtual void write(std::string bytes, WriteHandler handler) = 0;
  /// Ends writing; reading continues.
  virtual void end_writing() = 0;
  virtual void close() = 0;
};

/// Becomes the owner of the descriptor of a connected socket.
std::shared_ptr<ByteStream> plain_stream(EventLoop& loop, int descriptor);

/// Certificate and key for TLS, read from PEM files.
class TlsIdentity;
/// Throws UserError if the files cannot be read or do not match.
std::shared_ptr<TlsIdentity> read_tls_identity(const std::string& certificate,
                                               const std::string& key);
/// TLS 1.2 or newer over a connected socket.
std::shared_ptr<ByteStream> tls_stream(EventLoop& loop, int descriptor,
                                       const std::shared_ptr<TlsIdentity>& identity);

}  // namespace longhaul::http
