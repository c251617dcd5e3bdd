#pragma once
// A connection to one client as a stream of bytes, plain or encrypted.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/event_loop.h"

namespace longhaul::http {

/// All functions must be called on the loop's thread. At most one read and one write may be
/// pending. A handler is never called within the call that passed it, nor after close().
class ByteStream {
 public:
  /// `open` is false at the end of the client's bytes and after an error.
  using ReadHandler = std::function<void(bool open, std::string_view bytes)>;
  using WriteHandler = std::function<void(bool open)>;

  virtual ~ByteStream() = default;
  /// Waits for bytes. They are valid only during the call of the handler.
  virtual void read(ReadHandler handler) = 0;
  virtual void write(std::string bytes, WriteHandler handler) = 0;
  /// Closes the direction to the client. Reading continues.
  virtual void end_writing() = 0;
  virtual void close() = 0;
};

/// Returns a stream over a connected socket and takes ownership of its descriptor.
std::shared_ptr<ByteStream> plain_stream(EventLoop& loop, int descriptor);

/// The certificate and key for TLS.
class TlsIdentity;
/// Reads certificate and key from PEM files. Throws UserError if the files cannot be read or do not
/// match.
std::shared_ptr<TlsIdentity> read_tls_identity(const std::string& certificate,
                                               const std::string& key);
/// Returns a stream with TLS 1.2 or newer over a connected socket.
std::shared_ptr<ByteStream> tls_stream(EventLoop& loop, int descriptor,
                                       const std::shared_ptr<TlsIdentity>& identity);

}  // namespace longhaul::http
