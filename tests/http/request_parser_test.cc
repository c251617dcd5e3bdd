#include "http/request_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace longhaul::http {
namespace {

const Limits kLimits;

/// Feeds `text` in pieces of `step` bytes, as a connection does; returns 200 or the refusal.
int status_of(std::string_view text, HttpRequest* request = nullptr, size_t step = 1 << 20) {
  RequestParser parser(kLimits);
  std::string input;
  for (size_t at = 0; at < text.size(); at += step) {
    input += text.substr(at, step);
    for (;;) {
      const size_t used = parser.put(input);
      input.erase(0, used);
      if (parser.state() == RequestParser::State::kHeaderRead) {
        parser.read_body();
        continue;
      }
      if (used == 0 || input.empty()) break;
    }
    if (parser.state() == RequestParser::State::kFailed) return parser.refusal().status;
    if (parser.state() == RequestParser::State::kDone) {
      if (request != nullptr) *request = parser.take();
      return 200;
    }
  }
  return 0;
}

std::string get(const std::string& fields) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

std::string post(const std::string& fields, const std::string& body) {
  return "POST /x HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + body;
}

TEST(RequestParser, ReadsPathQueryFieldsAndBody) {
  HttpRequest request;
  ASSERT_EQ(status_of("POST /a%20b?x=1&y=a+b HTTP/1.1\r\nhost: h\r\nX-One:  two \r\n"
                      "Content-Length: 3\r\n\r\nabcREST",
                      &request),
            200);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a b");
  EXPECT_EQ(request.parameter("x"), "1");
  EXPECT_EQ(request.parameter("y"), "a b");
  EXPECT_EQ(request.parameter("z"), "");
  EXPECT_EQ(request.field("HOST"), "h");
  EXPECT_EQ(request.field("x-one"), "two");
  EXPECT_EQ(request.body, "abc");
}

TEST(RequestParser, ReadsChunksWhateverThePieces) {
  const std::string text =
      post("Transfer-Encoding: chunked\r\n", "3;x=y\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
  for (const size_t step : {1, 2, 3, 7, 100}) {
    HttpRequest request;
    ASSERT_EQ(status_of(text, &request, step), 200) << step;
    EXPECT_EQ(request.body, "abc0123456789abcdef");
  }
}

TEST(RequestParser, IgnoresTrailers) {
  HttpRequest request;
  ASSERT_EQ(status_of(post("Transfer-Encoding: chunked\r\n", "0\r\nHost: other\r\n\r\n"), &request),
            200);
  EXPECT_EQ(request.count("Host"), 1U);
}

TEST(RequestParser, RefusesWhatOthersMayReadInAnotherWay) {
  EXPECT_EQ(status_of(get("X: a\r\n b\r\n")), 400) << "obs-fold";
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: a\n\n"), 400) << "bare LF";
  EXPECT_EQ(status_of(get(std::string("X: a\0b\r\n", 8))), 400) << "NUL";
  EXPECT_EQ(status_of(get("Host: b\r\n")), 400) << "two hosts";
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no host";
  EXPECT_EQ(status_of("GET x HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of(get("X Y: a\r\n")), 400);
  EXPECT_EQ(status_of(post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "")), 400);
  EXPECT_EQ(status_of(post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc")), 400);
  EXPECT_EQ(status_of(post("Content-Length: -3\r\n", "abc")), 400);
  EXPECT_EQ(status_of(post("Content-Length: +3\r\n", "abc")), 400);
  EXPECT_EQ(status_of(post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")), 501);
  EXPECT_EQ(status_of(post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")), 501);
  EXPECT_EQ(status_of(post("Transfer-Encoding: chunked\r\n", "x\r\nabc\r\n")), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
}

TEST(RequestParser, RefusesWhatIsTooLarge) {
  EXPECT_EQ(status_of(get("X: " + std::string(20'000, 'a') + "\r\n")), 431);
  EXPECT_EQ(status_of(std::string(20'000, 'a')), 431);
  std::string many;
  for (int i = 0; i < 101; ++i) many += "X: a\r\n";
  EXPECT_EQ(status_of(get(many)), 431);
  EXPECT_EQ(status_of(post("Content-Length: 33554433\r\n", "")), 413);
  // Uploads may be longer, and have a limit too.
  const std::string upload = "Content-Type: multipart/form-data; boundary=x\r\n";
  EXPECT_EQ(status_of(post(upload + "Content-Length: 33554433\r\n", "")), 0);
  EXPECT_EQ(status_of(post(upload + "Content-Length: 300000000\r\n", "")), 413);
  EXPECT_EQ(status_of(post(upload + "Transfer-Encoding: chunked\r\n", "3000000\r\na")), 0);
  EXPECT_EQ(status_of(post(upload + "Transfer-Encoding: chunked\r\n", "20000000\r\na")), 413);
  EXPECT_EQ(status_of(post("Content-Length: 99999999999999999999999\r\n", "")), 400);
  EXPECT_EQ(status_of(post("Transfer-Encoding: chunked\r\n", "100000000\r\nabc")), 413);
  EXPECT_EQ(status_of(post("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\nabc")), 400);
  EXPECT_EQ(status_of(post("Transfer-Encoding: chunked\r\n", "1;" + std::string(40'000, 'x'))),
            400);
}

TEST(RequestParser, WaitsForTheRest) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n"), 0);
  EXPECT_EQ(status_of(post("Content-Length: 3\r\n", "ab")), 0);
  EXPECT_EQ(status_of(post("Transfer-Encoding: chunked\r\n", "3\r\nab")), 0);
}

TEST(RequestParser, SaysWhenTheClientWaits) {
  RequestParser parser(kLimits);
  parser.put(post("Content-Length: 3\r\nExpect: 100-continue\r\n", ""));
  ASSERT_EQ(parser.state(), RequestParser::State::kHeaderRead);
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_EQ(parser.body_length(), 3U);
}

}  // namespace
}  // namespace longhaul::http
