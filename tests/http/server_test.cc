// A server on loopback and clients that behave in every way.

#include "http/server.h"

#include <gtest/gtest.h>

#include <thread>

#include "raw_client.h"

namespace longhaul::http {
namespace {

using std::chrono::milliseconds;
using testing_support::RawClient;

/// Answers /echo with the body, /hold never, /stream with events that the test sends, and refuses
/// /refused before its body.
class ServerTest : public ::testing::Test {
 protected:
  void start(Limits limits = {}) {
    ServerOptions options;
    options.sockets = open_listening_sockets("127.0.0.1:0");
    port_ = std::stoi(options.sockets[0].name.substr(10));
    options.limits = limits;
    options.check = [](const HttpRequest& request, Fields& fields) -> std::optional<HttpResponse> {
      fields.emplace_back("X-Checked", "yes");
      if (request.path != "/refused") return std::nullopt;
      return error_response(403, "permission_error", "refused", "no");
    };
    options.handle = [this](const std::shared_ptr<Exchange>& exchange) { handle(exchange); };
    server_ = std::make_unique<Server>(std::move(options));
    server_->start();
  }

  void handle(const std::shared_ptr<Exchange>& exchange) {
    const std::lock_guard lock(mutex_);
    held_ = exchange;
    if (exchange->request.path == "/echo") {
      HttpResponse response;
      response.body = exchange->request.body;
      exchange->reply(std::move(response));
    } else if (exchange->request.path == "/stream") {
      events_ = exchange->stream();
      exchange->on_close([this] { gone_ = true; });
    } else {
      exchange->on_close([this] { gone_ = true; });
    }
  }

  template <class Condition>
  static bool soon(Condition condition) {
    for (int i = 0; i < 1000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }

  std::shared_ptr<EventStream> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

  static std::string request(const std::string& path, const std::string& body = "",
                             const std::string& fields = "") {
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  int port_ = 0;
  std::mutex mutex_;
  std::shared_ptr<Exchange> held_;
  std::shared_ptr<EventStream> events_;
  std::atomic<bool> gone_ = false;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, KeepsAConnectionAndAnswersPipelinedRequestsInOrder) {
  start();
  RawClient client(port_);
  client.send(request("/echo", "one") + request("/echo", "two") + request("/echo", "three"));
  for (const std::string body : {"one", "two", "three"}) {
    const std::string response = client.read_response();
    EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << response;
    EXPECT_TRUE(response.ends_with("\r\n\r\n" + body)) << response;
    EXPECT_NE(response.find("X-Checked: yes"), std::string::npos);
  }
  client.send(request("/echo", "last", "Connection: close\r\n"));
  EXPECT_TRUE(client.read_all().ends_with("last"));
  EXPECT_TRUE(client.closed_by_server());
}

TEST_F(ServerTest, RefusesBeforeTheBodyIsRead) {
  start();
  RawClient client(port_);
  client.send("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 403 "));
  RawClient large(port_);
  large.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n");
  EXPECT_TRUE(large.read_response().starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(large.closed_by_server());
  RawClient garbage(port_);
  garbage.send("\x16\x03\x01\x02 what\n\n");
  EXPECT_TRUE(garbage.read_response().starts_with("HTTP/1.1 400 "));
}

TEST_F(ServerTest, SendsAContinueToAClientThatWaits) {
  start();
  RawClient client(port_);
  client.send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_TRUE(client.read_response().ends_with("ok"));
}

TEST_F(ServerTest, StreamsEventsInChunks) {
  start();
  RawClient client(port_);
  client.send(request("/stream") + request("/echo", "next"));
  ASSERT_TRUE(soon([&] { return events() != nullptr; }));
  events()->send("first");
  EXPECT_NE(client.read_until("data: first\n\n\r\n").find("Transfer-Encoding: chunked"),
            std::string::npos);
  events()->send("second");
  events()->finish();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "e\r\ndata: second\n\n\r\n0\r\n\r\n");
  EXPECT_TRUE(client.read_response().ends_with("next")) << "the connection goes on";
}

TEST_F(ServerTest, SeesAClientThatGoesWhileItsAnswerIsMade) {
  start();
  {
    RawClient client(port_);
    client.send(request("/hold"));
    ASSERT_TRUE(soon([&] {
      const std::lock_guard lock(mutex_);
      return held_ != nullptr;
    }));
    EXPECT_FALSE(gone_);
  }
  EXPECT_TRUE(soon([&] { return gone_.load(); }));
  EXPECT_TRUE(held_->closed());
  EXPECT_TRUE(soon([&] { return server_->connections() == 0; }));
}

TEST_F(ServerTest, DoesNotMistakePipelinedBytesForAClientThatGoes) {
  start();
  RawClient client(port_);
  client.send(request("/hold") + request("/echo", "behind"));
  ASSERT_TRUE(soon([&] {
    const std::lock_guard lock(mutex_);
    return held_ != nullptr;
  }));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(gone_);
  held_->reply({});
  EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(client.read_response().ends_with("behind"));
}

TEST_F(ServerTest, ClosesWhoIsTooSlow) {
  Limits limits;
  limits.header_time = milliseconds(300);
  limits.body_time = milliseconds(300);
  limits.idle_time = milliseconds(300);
  limits.linger_time = milliseconds(300);
  start(limits);
  RawClient silent(port_), header(port_), body(port_), idle(port_);
  header.send("GET / HTTP/1.1\r\nHo");
  body.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  idle.send(request("/echo", "x"));
  EXPECT_TRUE(idle.read_response().ends_with("x"));
  EXPECT_TRUE(header.read_response().starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(body.read_response().starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(silent.closed_by_server());
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_TRUE(soon([&] { return server_->connections() == 0; }));
}

TEST_F(ServerTest, ClosesAClientThatDoesNotReadItsStream) {
  Limits limits;
  limits.write_time = milliseconds(300);
  limits.stream_bytes = 10'000;
  start(limits);
  RawClient client(port_);
  client.send(request("/stream"));
  ASSERT_TRUE(soon([&] { return events() != nullptr; }));
  const std::string event(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) events()->send(event);
  EXPECT_TRUE(events()->full() || soon([&] { return !events()->full(); }));
  EXPECT_TRUE(soon([&] { return gone_.load(); }));
  EXPECT_TRUE(events()->closed());
}

TEST_F(ServerTest, PingsASilentStream) {
  Limits limits;
  limits.ping_time = milliseconds(100);
  start(limits);
  RawClient client(port_);
  client.send(request("/stream"));
  EXPECT_NE(client.read_until(": ping\n\n").find(": ping"), std::string::npos);
}

TEST_F(ServerTest, LimitsTheConnectionsOfAnAddress) {
  Limits limits;
  limits.connections_of_address = 2;
  start(limits);
  RawClient one(port_), two(port_);
  ASSERT_TRUE(soon([&] { return server_->connections() == 2; }));
  RawClient three(port_);
  EXPECT_TRUE(three.closed_by_server());
  one.close();
  ASSERT_TRUE(soon([&] { return server_->connections() == 1; }));
  RawClient four(port_);
  four.send(request("/echo", "4"));
  EXPECT_TRUE(four.read_response().ends_with("4"));
}

TEST_F(ServerTest, DrainsOpenAnswers) {
  start();
  RawClient idle(port_), busy(port_);
  idle.send(request("/echo", "x"));
  idle.read_response();
  busy.send(request("/hold"));
  ASSERT_TRUE(soon([&] {
    const std::lock_guard lock(mutex_);
    return held_ != nullptr && held_->request.path == "/hold";
  }));
  server_->drain();
  EXPECT_TRUE(idle.closed_by_server());
  held_->reply({});
  EXPECT_NE(busy.read_response().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(server_->await_end(milliseconds(5000)));
}

}  // namespace
}  // namespace longhaul::http
