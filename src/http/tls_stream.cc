#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include "base/error.h"
#include "base/secret_file.h"
#include "http/byte_stream.h"
#include "http/socket_of.h"
#include "http/sockets.h"

namespace longhaul::http {
namespace {

using boost::system::error_code;
namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

}  // namespace

class TlsIdentity {
 public:
  ssl::context context{ssl::context::tls_server};
};

namespace {

class TlsStream : public ByteStream, public std::enable_shared_from_this<TlsStream> {
 public:
  TlsStream(asio::io_context& context, int descriptor, std::shared_ptr<TlsIdentity> identity)
      : identity_(std::move(identity)),
        stream_(socket_of(context, descriptor), identity_->context) {}

  /// The first read performs the handshake.
  void read(ReadHandler handler) override {
    if (shaken_) return read_some(std::move(handler));
    stream_.async_handshake(
        ssl::stream_base::server,
        [self = shared_from_this(), handler = std::move(handler)](const error_code& error) mutable {
          if (self->closed_) return;
          if (error) return handler(false, {});
          self->shaken_ = true;
          self->read_some(std::move(handler));
        });
  }

  void write(std::string bytes, WriteHandler handler) override {
    out_ = std::move(bytes);
    asio::async_write(
        stream_, asio::buffer(out_),
        [self = shared_from_this(), handler = std::move(handler)](const error_code& error, size_t) {
          self->out_ = {};
          if (!self->closed_) handler(!error);
        });
  }

  void end_writing() override {
    stream_.async_shutdown([self = shared_from_this()](const error_code&) {});
  }

  void close() override {
    closed_ = true;
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  void read_some(ReadHandler handler) {
    stream_.async_read_some(asio::buffer(in_),
                            [self = shared_from_this(), handler = std::move(handler)](
                                const error_code& error, size_t count) {
                              if (!self->closed_)
                                handler(!error, {self->in_.data(), error ? 0 : count});
                            });
  }

  std::shared_ptr<TlsIdentity> identity_;
  ssl::stream<Socket> stream_;
  bool shaken_ = false, closed_ = false;
  std::array<char, 8 << 10> in_;
  std::string out_;
};

}  // namespace

std::shared_ptr<TlsIdentity> read_tls_identity(const std::string& certificate,
                                               const std::string& key) {
  auto identity = std::make_shared<TlsIdentity>();
  ssl::context& context = identity->context;
  error_code error;
  context.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                      ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 |
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  context.use_certificate_chain_file(certificate, error);
  if (error) user_error("--tls-cert {}: {}", certificate, error.message());
  check_secret_file(key, "--tls-key " + key);
  context.use_private_key_file(key, ssl::context::pem, error);
  if (error) user_error("--tls-key {}: {}", key, error.message());
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) {
    user_error("--tls-key {}: it does not belong to the certificate {}", key, certificate);
  }
  return identity;
}

std::shared_ptr<ByteStream> tls_stream(EventLoop& loop, int descriptor,
                                       const std::shared_ptr<TlsIdentity>& identity) {
  return std::make_shared<TlsStream>(loop.sockets().context, descriptor, identity);
}

}  // namespace longhaul::http
