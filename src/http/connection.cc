#include "http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace longhaul::http {
namespace {

constexpr size_t kPiece = 256 << 10;        // bytes of one write
constexpr size_t kMostLingered = 64 << 20;  // bytes that are read and dropped after a refusal
constexpr std::string_view kLastChunk = "0\r\n\r\n";

HttpResponse response_of(const Refusal& refusal) {
  return error_response(refusal.status, "invalid_request_error", refusal.code, refusal.message);
}

std::string chunk_of_stream(const std::string& data) {
  return fmt::format("{:x}\r\n", data.size()) + data + "\r\n";
}

}  // namespace

Connection::Connection(ConnectionHost& host, std::shared_ptr<ByteStream> stream, std::string peer)
    : host_(host), stream_(std::move(stream)), peer_(std::move(peer)) {}

Connection::~Connection() { forget_body(); }

void Connection::start() {
  parser_.emplace(host_.limits);
  set_deadline(host_.limits.header_time);
  read_more();
}

/// A read is always pending, also while an answer is computed. Otherwise a closed connection would
/// not be noticed.
void Connection::read_more() {
  if (reading_ || closed() || input_.size() > host_.limits.pipelined_bytes) return;
  reading_ = true;
  stream_->read([self = shared_from_this()](bool open, std::string_view bytes) {
    self->reading_ = false;
    self->on_bytes(open, bytes);
  });
}

void Connection::on_bytes(bool open, std::string_view bytes) {
  if (!open) return close();
  if (phase_ == Phase::kLingering) {
    lingered_ += bytes.size();
    if (lingered_ > kMostLingered) return close();
  } else if (phase_ == Phase::kReceiving && input_.empty()) {
    const size_t used = feed(bytes);
    if (phase_ != Phase::kLingering) input_ = bytes.substr(used);
  } else {
    input_ += bytes;
    feed_input();
  }
  read_more();
}

void Connection::feed_input() {
  if (phase_ != Phase::kReceiving || input_.empty()) return;
  const size_t used = feed(input_);
  input_.erase(0, used);
}

/// Passes `bytes` to the parser and returns how many it has used.
size_t Connection::feed(std::string_view bytes) {
  size_t used = 0;
  while (phase_ == Phase::kReceiving && used < bytes.size()) {
    if (!request_begun_) {
      request_begun_ = true;
      begun_ = Clock::now();
      set_deadline(host_.limits.header_time);
    }
    const size_t count = parser_->put(bytes.substr(used));
    used += count;
    if (!after_put() && count == 0) break;
  }
  return used;
}

/// Returns whether the request has reached its next part.
bool Connection::after_put() {
  switch (parser_->state()) {
    case RequestParser::State::kHeader:
      return false;
    case RequestParser::State::kHeaderRead:
      header_read();
      return true;
    case RequestParser::State::kBody:
      count_body();
      return false;
    case RequestParser::State::kDone:
      dispatch();
      return true;
    case RequestParser::State::kFailed:
      refuse(response_of(parser_->refusal()));
      return true;
  }
  return false;
}

void Connection::header_read() {
  const HttpRequest& header = parser_->header();
  record_ = {header.method, header.path, peer_};
  head_ = header.method == "HEAD";
  reply_fields_.clear();
  if (auto refusal = host_.check(header, reply_fields_)) {
    const bool body_follows = !parser_->body_length() || *parser_->body_length() > 0;
    if (body_follows) return refuse(*refusal);
    keep_alive_ = header.keep_alive;
    phase_ = Phase::kHandling;
    return reply(std::move(*refusal));
  }
  const bool waits = parser_->expects_continue() && parser_->body_length() != size_t{0};
  parser_->read_body();
  body_begun_ = Clock::now();
  set_deadline(host_.limits.body_time);
  if (parser_->state() == RequestParser::State::kDone) return dispatch();
  if (waits && !writing_) write("HTTP/1.1 100 Continue\r\n\r\n");
}

void Connection::count_body() {
  const size_t bytes = parser_->body_bytes();
  host_.bodies_bytes += bytes - counted_;
  counted_ = bytes;
  deadline_ = body_begun_ + host_.limits.body_time + std::chrono::seconds(bytes / (256 << 10));
  if (host_.bodies_bytes > host_.limits.bodies_bytes) {
    HttpResponse busy = error_response(503, "server_error", "overloaded",
                                       "too many large requests are being received");
    busy.fields.emplace_back("Retry-After", "5");
    refuse(busy);
  }
}

void Connection::forget_body() {
  host_.bodies_bytes -= counted_;
  counted_ = 0;
}

void Connection::dispatch() {
  count_body();
  if (phase_ != Phase::kReceiving) return;
  phase_ = Phase::kHandling;
  ++requests_;
  HttpRequest request = parser_->take();
  request.peer = peer_;
  keep_alive_ = request.keep_alive && requests_ < host_.limits.requests_of_connection;
  chunked_ = request.version == 11;
  const std::weak_ptr<Connection> weak = weak_from_this();
  EventLoop& loop = host_.loop;
  const auto token = std::make_shared<std::weak_ptr<Exchange>>();
  // Answers come from any thread. A late answer finds another exchange, or no connection.
  const auto on_loop = [weak, token, &loop](std::function<void(Connection&)> task) {
    loop.post([weak, token, task = std::move(task)] {
      const auto self = weak.lock();
      if (self && self->exchange_ && self->exchange_ == token->lock()) task(*self);
    });
  };
  Exchange::Way way;
  way.stream_bytes = host_.limits.stream_bytes;
  way.reply = [on_loop](HttpResponse response) {
    on_loop([response = std::move(response)](Connection& self) mutable {
      self.reply(std::move(response));
    });
  };
  way.stream = [on_loop](HttpResponse header, std::shared_ptr<EventStream> events) {
    on_loop([header = std::move(header), events = std::move(events)](Connection& self) mutable {
      self.begin_stream(std::move(header), std::move(events));
    });
  };
  exchange_ = std::make_shared<Exchange>(std::move(request), std::move(way));
  exchange_->reply_fields = std::exchange(reply_fields_, {});
  *token = exchange_;
  host_.handle(exchange_);
}

/// Answers without having read the whole request, so the connection cannot continue.
void Connection::refuse(const HttpResponse& response) {
  record_.status = response.status;
  record_.bytes = response.body.size();
  if (record_.peer.empty()) record_.peer = peer_;
  HttpResponse full = response;
  full.fields.insert(full.fields.end(), reply_fields_.begin(), reply_fields_.end());
  keep_alive_ = false;
  last_answer_ = true;
  phase_ = Phase::kWriting;
  input_ = {};
  write(response_header(full, static_cast<long long>(full.body.size()), false) +
        (head_ ? "" : full.body));
}

bool Connection::keeps_alive() const { return keep_alive_ && !host_.draining; }

void Connection::reply(HttpResponse response) {
  if (phase_ != Phase::kHandling) return;
  forget_body();
  phase_ = Phase::kWriting;
  record_.status = response.status;
  record_.bytes = response.body.size();
  last_answer_ = !keeps_alive();
  if (!exchange_) {  // the check of the header has refused it
    response.fields.insert(response.fields.end(), reply_fields_.begin(), reply_fields_.end());
  }
  std::string bytes =
      response_header(response, static_cast<long long>(response.body.size()), !last_answer_);
  if (!head_) bytes += response.body;
  write(std::move(bytes));
}

void Connection::begin_stream(HttpResponse header, std::shared_ptr<EventStream> events) {
  if (phase_ != Phase::kHandling) return events->close();
  forget_body();
  phase_ = Phase::kStreaming;
  events_ = std::move(events);
  record_.status = header.status;
  last_answer_ = !keeps_alive() || !chunked_;
  const std::weak_ptr<Connection> weak = weak_from_this();
  events_->on_data([weak, &loop = host_.loop] {
    loop.post([weak] {
      if (const auto self = weak.lock()) self->pump();
    });
  });
  write(response_header(header, chunked_ ? -1 : -2, !last_answer_));
}

/// Writes the queued events.
void Connection::pump() {
  if (phase_ != Phase::kStreaming || writing_) return;
  const bool ended = events_->ended();
  std::string data = events_->take();
  if (!data.empty()) {
    record_.bytes += data.size();
    return write(chunked_ ? chunk_of_stream(data) : std::move(data));
  }
  if (!ended) return;
  phase_ = Phase::kWriting;
  if (chunked_) return write(std::string(kLastChunk));
  after_answer();
}

void Connection::write(std::string bytes) {
  if (closed()) return;
  out_ += bytes;
  last_written_ = Clock::now();
  if (!writing_) write_piece();
}

void Connection::write_piece() {
  writing_ = true;
  std::string piece;
  if (out_used_ == 0 && out_.size() <= kPiece) {
    piece = std::exchange(out_, {});
  } else {
    piece = out_.substr(out_used_, kPiece);
    out_used_ += piece.size();
    if (out_used_ == out_.size()) {
      out_ = {};
      out_used_ = 0;
    }
  }
  stream_->write(std::move(piece),
                 [self = shared_from_this()](bool open) { self->on_written(open); });
}

void Connection::on_written(bool open) {
  writing_ = false;
  if (!open) return close();
  last_written_ = Clock::now();
  if (!out_.empty()) return write_piece();
  if (phase_ == Phase::kStreaming) return pump();
  if (phase_ == Phase::kWriting) after_answer();
}

void Connection::after_answer() {
  record(true);
  exchange_.reset();
  events_.reset();
  forget_body();
  if (last_answer_) return linger();
  parser_.emplace(host_.limits);
  phase_ = Phase::kReceiving;
  request_begun_ = false;
  set_deadline(host_.limits.idle_time);
  feed_input();
  read_more();
}

/// If a connection is closed with unread bytes of the client, the system discards the answer.
void Connection::linger() {
  phase_ = Phase::kLingering;
  parser_.reset();
  input_ = {};
  set_deadline(host_.limits.linger_time);
  stream_->end_writing();
  read_more();
}

void Connection::record(bool complete) {
  if (record_.method.empty() && record_.status == 0) return;
  if (exchange_) {
    record_.route = exchange_->route;
    record_.note = exchange_->note();
  }
  record_.complete = complete;
  record_.seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  host_.done(record_);
  record_ = {};
}

void Connection::close() {
  if (closed()) return;
  const bool answering =
      phase_ == Phase::kHandling || phase_ == Phase::kStreaming || phase_ == Phase::kWriting;
  phase_ = Phase::kClosed;
  forget_body();
  stream_->close();
  if (events_) events_->close();
  if (exchange_) exchange_->close();
  if (answering) record(false);
  host_.closed(*this);
  exchange_.reset();
  events_.reset();
  input_ = {};
  out_ = {};
}

void Connection::sweep(Clock::time_point now) {
  const auto self = shared_from_this();
  switch (phase_) {
    case Phase::kReceiving:
      if (now < deadline_) return;
      if (idle()) return close();
      return refuse(error_response(408, "invalid_request_error", "request_timeout",
                                   "the request did not arrive in time"));
    case Phase::kLingering:
      if (now >= deadline_) close();
      return;
    case Phase::kStreaming:
      if (!writing_ && now - last_written_ >= host_.limits.ping_time) {
        events_->ping();
      }
      [[fallthrough]];
    case Phase::kWriting:
      if (writing_ && now - last_written_ >= host_.limits.write_time) close();
      return;
    case Phase::kHandling:
    case Phase::kClosed:
      return;
  }
}

}  // namespace longhaul::http
