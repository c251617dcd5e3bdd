#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>

#include "http/byte_stream.h"
#include "http/socket_of.h"
#include "http/sockets.h"

namespace longhaul::http {
namespace {

using boost::system::error_code;
namespace asio = boost::asio;

/// One buffer for the loop's thread, so that idle connections have none of their own.
std::array<char, 64 << 10>& read_buffer() {
  thread_local std::array<char, 64 << 10> buffer;
  return buffer;
}

class PlainStream : public ByteStream, public std::enable_shared_from_this<PlainStream> {
 public:
  PlainStream(asio::io_context& context, int descriptor)
      : context_(context), socket_(socket_of(context, descriptor)) {}

  void read(ReadHandler handler) override {
    socket_.async_wait(Socket::wait_read, [self = shared_from_this(), handler = std::move(handler)](
                                              const error_code& error) mutable {
      if (self->closed_) return;
      if (error) return handler(false, {});
      error_code problem;
      const size_t count = self->socket_.read_some(asio::buffer(read_buffer()), problem);
      if (problem == asio::error::would_block) return self->read(std::move(handler));
      handler(!problem, {read_buffer().data(), problem ? 0 : count});
    });
  }

  void write(std::string bytes, WriteHandler handler) override {
    out_ = std::move(bytes);
    written_ = 0;
    on_written_ = std::move(handler);
    write_more();
  }

  void end_writing() override {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }

  void close() override {
    closed_ = true;
    error_code ignored;
    socket_.close(ignored);
    on_written_ = nullptr;
  }

 private:
  void write_more() {
    while (written_ < out_.size()) {
      error_code problem;
      written_ +=
          socket_.write_some(asio::buffer(out_.data() + written_, out_.size() - written_), problem);
      if (problem == asio::error::would_block) {
        socket_.async_wait(Socket::wait_write,
                           [self = shared_from_this()](const error_code& error) {
                             if (self->closed_) return;
                             if (error) return self->finish_write(false);
                             self->write_more();
                           });
        return;
      }
      if (problem) return finish_write(false);
    }
    finish_write(true);
  }

  void finish_write(bool open) {
    out_ = {};
    asio::post(context_, [self = shared_from_this(), open] {
      if (self->closed_) return;
      const WriteHandler handler = std::exchange(self->on_written_, nullptr);
      if (handler) handler(open);
    });
  }

  asio::io_context& context_;
  Socket socket_;
  bool closed_ = false;
  std::string out_;
  size_t written_ = 0;
  WriteHandler on_written_;
};

}  // namespace

std::shared_ptr<ByteStream> plain_stream(EventLoop& loop, int descriptor) {
  return std::make_shared<PlainStream>(loop.sockets().context, descriptor);
}

}  // namespace longhaul::http
