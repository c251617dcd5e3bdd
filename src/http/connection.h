#pragma once
// A Connection reads the requests of one client and writes the responses, one after another. Every
// step for which it waits on the client has a deadline. All functions run on the thread of the
// EventLoop.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/byte_stream.h"
#include "http/exchange.h"
#include "http/limits.h"
#include "http/request_parser.h"

namespace longhaul::http {

using Clock = std::chrono::steady_clock;

/// Describes a request and its response, for the log and the metrics.
struct RequestRecord {
  std::string method, path, peer;
  std::string route;  ///< path pattern of the matching route; empty: no route matches
  std::string note;   ///< remark for the log (Exchange::set_note)
  int status = 0;
  size_t bytes = 0;  ///< size of the response's body
  double seconds = 0;
  bool complete = true;  ///< whether the client stayed connected until the end
};

class Connection;

/// The functions and state that all connections of a server share.
struct ConnectionHost {
  EventLoop& loop;
  const Limits& limits;
  /// Called when the header of a request has been read, before its body is read. A returned
  /// response rejects the request. The function may add header fields for the response to
  /// `reply_fields`, whether it rejects the request or not.
  std::function<std::optional<HttpResponse>(const HttpRequest&, Fields& reply_fields)> check;
  /// Called when a request has been received completely. The function must respond, at once or
  /// later.
  std::function<void(const std::shared_ptr<Exchange>&)> handle;
  /// Called when the response to a request has been sent, or when the connection is lost.
  std::function<void(const RequestRecord&)> done;
  /// Called when a connection has been closed.
  std::function<void(const Connection&)> closed;
  /// Total size of the bodies of all requests whose response has not begun.
  size_t bodies_bytes = 0;
  bool draining = false;  ///< whether each connection is closed after its current response
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionHost& host, std::shared_ptr<ByteStream> stream, std::string peer);
  ~Connection();

  void start();
  /// Closes the connection if a deadline has passed. Sends a ping if an event stream has been idle
  /// for Limits::ping_time. The server calls sweep() several times per second.
  void sweep(Clock::time_point now);
  void close();
  bool closed() const { return phase_ == Phase::kClosed; }
  /// Returns whether the connection is between two requests.
  bool idle() const { return phase_ == Phase::kReceiving && !request_begun_; }
  const std::string& peer() const { return peer_; }

 private:
  enum class Phase { kReceiving, kHandling, kWriting, kStreaming, kLingering, kClosed };

  void read_more();
  void on_bytes(bool open, std::string_view bytes);
  void feed_input();
  size_t feed(std::string_view bytes);
  bool after_put();
  void header_read();
  void count_body();
  void forget_body();
  void dispatch();
  void refuse(const HttpResponse& response);
  void reply(HttpResponse response);
  void begin_stream(HttpResponse header, std::shared_ptr<EventStream> events);
  void pump();
  void write(std::string bytes);
  void write_piece();
  void on_written(bool open);
  void after_answer();
  void linger();
  void record(bool complete);
  bool keeps_alive() const;
  void set_deadline(std::chrono::milliseconds from_now) { deadline_ = Clock::now() + from_now; }

  ConnectionHost& host_;
  std::shared_ptr<ByteStream> stream_;
  std::string peer_;
  Phase phase_ = Phase::kReceiving;
  Clock::time_point deadline_, begun_, last_written_, body_begun_;
  std::string input_;  ///< received bytes that have not been parsed yet
  bool reading_ = false, writing_ = false, request_begun_ = false, last_answer_ = false;
  std::optional<RequestParser> parser_;
  size_t counted_ = 0;  ///< bytes of this connection that host_.bodies_bytes includes
  size_t requests_ = 0, lingered_ = 0;
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<EventStream> events_;
  bool chunked_ = false, keep_alive_ = false, head_ = false;
  RequestRecord record_;
  std::string out_;
  size_t out_used_ = 0;
  Fields reply_fields_;
};

}  // namespace longhaul::http
