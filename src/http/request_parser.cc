#include "http/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "http/multipart.h"

namespace longhaul::http {
namespace {

namespace beast_http = boost::beast::http;
using boost::system::error_code;

constexpr std::string_view kEndOfHeader = "\r\n\r\n";

std::string view_text(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool is_transfer_coding_known(const HttpRequest& request) {
  const size_t count = request.count("Transfer-Encoding");
  return count == 0 ||
         (count == 1 && equal_but_case(request.field("Transfer-Encoding"), "chunked"));
}

}  // namespace

struct RequestParser::Body {
  beast_http::request_parser<beast_http::string_body> parser;
};

RequestParser::RequestParser(const Limits& limits) : limits_(limits) {}
RequestParser::~RequestParser() = default;

void RequestParser::fail(int status, std::string code, std::string message) {
  state_ = State::kFailed;
  refusal_ = {status, std::move(code), std::move(message)};
}

size_t RequestParser::put(std::string_view bytes) {
  if (state_ == State::kHeader) return put_header(bytes);
  if (state_ == State::kBody) return put_body(bytes);
  return 0;
}

size_t RequestParser::put_header(std::string_view bytes) {
  // Some clients send an empty line after a body.
  size_t skipped = 0;
  while (bytes.substr(std::min(skipped, bytes.size()), 2) == "\r\n") skipped += 2;
  const std::string_view text = bytes.substr(skipped);
  const size_t end = text.find(kEndOfHeader);
  const std::string_view header = text.substr(0, end == std::string_view::npos ? end : end + 4);
  if (header.size() > limits_.header_bytes) {
    fail(431, "header_too_large",
         fmt::format("the header is larger than {} bytes", limits_.header_bytes));
    return bytes.size();
  }
  if (!check_lines(header)) return bytes.size();
  if (end == std::string_view::npos) return skipped;
  parse_header(header);
  return state_ == State::kFailed ? bytes.size() : skipped + header.size();
}

/// Refuses input that Beast would read differently from others: lines that end without CR, and
/// fields that continue in the next line (obs-fold).
bool RequestParser::check_lines(std::string_view header) {
  size_t lines = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    const char c = header[i];
    const bool bare = (c == '\n' && (i == 0 || header[i - 1] != '\r')) ||
                      (c == '\r' && i + 1 < header.size() && header[i + 1] != '\n');
    if (c == '\0' || bare) {
      fail(400, "malformed_request", "a line of the header does not end in CR LF, or holds NUL");
      return false;
    }
    if (c != '\n') continue;
    if (++lines > limits_.fields + 2) {
      fail(431, "header_too_large",
           fmt::format("the header has more than {} fields", limits_.fields));
      return false;
    }
    if (i + 1 < header.size() && (header[i + 1] == ' ' || header[i + 1] == '\t')) {
      fail(400, "malformed_request", "a field of the header goes on in the next line");
      return false;
    }
  }
  return true;
}

void RequestParser::parse_header(std::string_view header) {
  body_ = std::make_unique<Body>();
  auto& parser = body_->parser;
  parser.header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  parser.body_limit(std::max(limits_.body_bytes, limits_.upload_bytes));
  parser.eager(false);
  error_code error;
  parser.put(boost::asio::buffer(header.data(), header.size()), error);
  if (error == beast_http::error::body_limit) {
    return refuse_large_body(std::max(limits_.body_bytes, limits_.upload_bytes));
  }
  if (error == beast_http::error::bad_version) {
    fail(505, "malformed_request", "this server speaks HTTP/1.1");
    return;
  }
  if (error || !parser.is_header_done()) {
    fail(400, "malformed_request",
         fmt::format("the header cannot be read: {}", error ? error.message() : "incomplete"));
    return;
  }
  const auto& message = parser.get();
  request_.method = view_text(message.method_string());
  request_.version = static_cast<int>(message.version());
  request_.keep_alive = message.keep_alive();
  for (const auto& field : message) {
    request_.fields.emplace_back(view_text(field.name_string()), view_text(field.value()));
  }
  if (!check_fields() || !take_target(view_text(message.target()))) return;
  expects_continue_ =
      request_.version == 11 && equal_but_case(request_.field("Expect"), "100-continue");
  if (!parser.chunked()) {
    body_length_ = parser.content_length() ? static_cast<size_t>(*parser.content_length()) : 0;
  }
  most_body_ = is_upload(request_) ? limits_.upload_bytes : limits_.body_bytes;
  if (body_length_ && *body_length_ > most_body_) return refuse_large_body(most_body_);
  parser.body_limit(most_body_);  // for a body in chunks
  state_ = State::kHeaderRead;
}

void RequestParser::refuse_large_body(size_t most) {
  fail(413, "request_too_large", fmt::format("the body is larger than {} bytes", most));
}

bool RequestParser::check_fields() {
  if (request_.version != 10 && request_.version != 11) {
    fail(505, "malformed_request", "this server speaks HTTP/1.1");
  } else if (request_.count("Host") != 1 &&
             (request_.version == 11 || request_.count("Host") > 1)) {
    fail(400, "malformed_request", "a request has one Host field");
  } else if (request_.count("Content-Length") > 1 ||
             (request_.count("Content-Length") == 1 && request_.count("Transfer-Encoding") > 0)) {
    fail(400, "malformed_request", "the header says the length of the body in two ways");
  } else if (!is_transfer_coding_known(request_)) {
    fail(501, "malformed_request", "Transfer-Encoding: only chunked is read");
  } else if (request_.version == 10 && request_.count("Transfer-Encoding") > 0) {
    fail(400, "malformed_request", "HTTP/1.0 has no Transfer-Encoding");
  }
  return state_ != State::kFailed;
}

bool RequestParser::take_target(std::string_view target) {
  const size_t query = std::min(target.find('?'), target.size());
  const bool decoded = percent_decode(target.substr(0, query), request_.path);
  if (!decoded || request_.path.empty() || request_.path.front() != '/') {
    fail(400, "malformed_request", "the target of the request is no path");
    return false;
  }
  request_.query = target.substr(std::min(target.size(), query + 1));
  return true;
}

void RequestParser::read_body() {
  auto& parser = body_->parser;
  parser.eager(true);
  state_ = parser.is_done() || body_length_ == size_t{0} ? State::kDone : State::kBody;
}

size_t RequestParser::body_bytes() const { return body_ ? body_->parser.get().body().size() : 0; }

size_t RequestParser::put_body(std::string_view bytes) {
  auto& parser = body_->parser;
  error_code error;
  const size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error == beast_http::error::need_more) {
    // A line of a chunk, or a trailer, without an end.
    if (bytes.size() - used > limits_.header_bytes) {
      fail(400, "malformed_request", "a chunk of the body has too long a line");
      return bytes.size();
    }
    return used;
  }
  if (error == beast_http::error::body_limit) {
    refuse_large_body(most_body_);
    return bytes.size();
  }
  if (error) {
    fail(400, "malformed_request", fmt::format("the body cannot be read: {}", error.message()));
    return bytes.size();
  }
  if (parser.is_done()) state_ = State::kDone;
  return used;
}

HttpRequest RequestParser::take() {
  request_.body = std::move(body_->parser.get().body());
  body_.reset();
  return std::move(request_);
}

}  // namespace longhaul::http
