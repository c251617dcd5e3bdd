#pragma once
// A ByteStream is a connection to one client. It transfers bytes, either plain or encrypted by TLS.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/event_loop.h"

namespace longhaul::http {

/// All functions must be called on the thread of the EventLoop. Reads and writes are asynchronous:
/// a handler is called later, when they are complete. At most one read and one write may be
/// pending. Handlers are not called after close().
class ByteStream {
 public:
  /// `open` is false if the client has closed its side of the connection, or after an error.
  using ReadHandler = std::function<void(bool open, std::string_view bytes)>;
  using WriteHandler = std::function<void(bool open)>;

  virtual ~ByteStream() = default;
  /// Begins to wait for bytes. The bytes are valid only during the call of the handler.
  virtual void read(ReadHandler handler) = 0;
  virtual void write(std::string bytes, WriteHandler handler) = 0;
  /// Closes this side of the connection. Bytes from the client can still be read.
  virtual void end_writing() = 0;
  virtual void close() = 0;
};

/// Returns a stream without encryption for a connected socket. The stream becomes the owner of the
/// descriptor.
std::shared_ptr<ByteStream> plain_stream(EventLoop& loop, int descriptor);

/// The certificate and private key with which a server identifies itself in TLS.
class TlsIdentity;
/// Reads certificate and key from PEM files. Throws UserError if the files cannot be read or do not
/// match.
std::shared_ptr<TlsIdentity> read_tls_identity(const std::string& certificate,
                                               const std::string& key);
/// Returns a stream encrypted by TLS 1.2 or newer for a connected socket. The stream becomes the
/// owner of the descriptor.
std::shared_ptr<ByteStream> tls_stream(EventLoop& loop, int descriptor,
                                       const std::shared_ptr<TlsIdentity>& identity);

}  // namespace longhaul::http
