// Router, origins, streams and addresses: parts without a socket of a client.

#include <gtest/gtest.h>
#include <unistd.h>

#include "../base/error_of.h"
#include "http/address.h"
#include "http/event_stream.h"
#include "http/origin_check.h"
#include "http/router.h"

namespace longhaul::http {
namespace {

using longhaul::testing_support::error_of;
using longhaul::testing_support::has;

Router router() {
  Router routes;
  routes.add({"GET", "/v1/models", {}});
  routes.add({"GET", "/v1/models/{id}", {}});
  routes.add({"POST", "/v1/models", {}});
  return routes;
}

TEST(Router, FindsByMethodAndPath) {
  const Router routes = router();
  std::string allow;
  EXPECT_EQ(routes.find("GET", "/v1/models", allow), &routes.routes()[0]);
  EXPECT_EQ(routes.find("HEAD", "/v1/models", allow), &routes.routes()[0]);
  EXPECT_EQ(routes.find("GET", "/v1/models/a/b", allow), &routes.routes()[1]);
  EXPECT_EQ(Router::rest(routes.routes()[1], "/v1/models/a/b"), "a/b");
  EXPECT_EQ(routes.find("GET", "/v1/models/", allow), nullptr);
  EXPECT_EQ(allow, "");
  EXPECT_EQ(routes.find("PUT", "/v1/models", allow), nullptr);
  EXPECT_EQ(allow, "GET, POST");
}

/// DELETE of a document's text is not DELETE of the document.
TEST(Router, AMethodOfAShorterPatternDoesNotServeALongerOne) {
  Router routes;
  routes.add({"DELETE", "/v1/documents/{id}", {}});
  routes.add({"GET", "/v1/documents/{id}", {}});
  routes.add({"GET", "/v1/documents/{id}/text", {}});
  std::string allow;
  EXPECT_EQ(routes.find("DELETE", "/v1/documents/doc_1/text", allow), nullptr);
  EXPECT_EQ(allow, "GET");
  EXPECT_NE(routes.find("DELETE", "/v1/documents/doc_1", allow), nullptr);
  EXPECT_EQ(allow, "DELETE, GET");
}

TEST(Router, PrefersThePatternWithMoreFixedParts) {
  Router routes;
  routes.add({"GET", "/v1/documents/{id}", {}});
  routes.add({"GET", "/v1/documents/{id}/text", {}});
  routes.add({"POST", "/v1/documents/{id}/fork", {}});
  std::string allow;
  const Route* text = routes.find("GET", "/v1/documents/doc_1/text", allow);
  ASSERT_EQ(text, &routes.routes()[1]);
  EXPECT_EQ(Router::part(*text, "/v1/documents/doc_1/text", "id"), "doc_1");
  EXPECT_EQ(Router::part(*text, "/v1/documents/doc_1/text", "other"), "");
  const Route* one = routes.find("GET", "/v1/documents/doc_1", allow);
  ASSERT_EQ(one, &routes.routes()[0]);
  EXPECT_EQ(Router::part(*one, "/v1/documents/doc_1", "id"), "doc_1");
  EXPECT_EQ(routes.find("POST", "/v1/documents/doc_1/fork", allow), &routes.routes()[2]);
  EXPECT_EQ(routes.find("POST", "/v1/documents//fork", allow), nullptr);
  EXPECT_EQ(routes.find("GET", "/v1/documents/", allow), nullptr);
  EXPECT_EQ(routes.find("GET", "/v1/documents", allow), nullptr);
}

HttpRequest from(const std::string& host, const std::string& origin = "") {
  HttpRequest request;
  request.fields = {{"Host", host}};
  if (!origin.empty()) request.fields.emplace_back("Origin", origin);
  return request;
}

TEST(OriginCheck, KnowsTheServersOwnNames) {
  const OriginCheck check({"box.example"}, {"https://chat.example"});
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]:80", "10.1.2.3",
                           "box.example:1", "BOX.example"}) {
    EXPECT_FALSE(check.refusal(from(host))) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example",
                           "localhost.evil.example", "", "[::1", "box.example.evil"}) {
    ASSERT_TRUE(check.refusal(from(host))) << host;
    EXPECT_EQ(check.refusal(from(host))->status, 403);
  }
}

TEST(OriginCheck, AllowsItsOwnPagesAndNamedOnes) {
  const OriginCheck check({}, {"https://chat.example"});
  EXPECT_FALSE(check.refusal(from("localhost:80", "http://localhost:80")));
  EXPECT_FALSE(check.refusal(from("localhost:80", "https://chat.example")));
  EXPECT_TRUE(check.refusal(from("localhost:80", "https://evil.example")));
  EXPECT_TRUE(check.refusal(from("localhost:80", "http://localhost:81")));
  EXPECT_TRUE(check.refusal(from("localhost:80", "null")));
  EXPECT_EQ(check.reply_fields(from("localhost", "https://chat.example"))[0].second,
            "https://chat.example");
  EXPECT_TRUE(check.reply_fields(from("localhost", "https://evil.example")).empty());
  EXPECT_FALSE(OriginCheck({}, {"*"}).refusal(from("localhost", "https://any.example")));
}

TEST(EventStream, TellsItsMakerWhenItIsFullOrClosed) {
  EventStream events(20);
  int woken = 0;
  events.on_data([&] { ++woken; });
  EXPECT_TRUE(events.send("a"));
  EXPECT_TRUE(events.comment("b"));
  EXPECT_EQ(woken, 1) << "once until the queue has been taken";
  EXPECT_FALSE(events.full());
  EXPECT_TRUE(events.send("0123456789"));
  EXPECT_TRUE(events.full());
  EXPECT_EQ(events.take(), "data: a\n\n: b\n\ndata: 0123456789\n\n");
  EXPECT_FALSE(events.full());
  events.finish();
  EXPECT_TRUE(events.ended());
  EXPECT_EQ(woken, 2);
  EXPECT_FALSE(events.send("late"));
  events.close();
  EXPECT_TRUE(events.closed());
}

TEST(EventStream, HasLinesAndPingsOfOtherForms) {
  EventStream events(1000);
  EXPECT_TRUE(events.ping());
  EXPECT_TRUE(events.send_line("{}"));
  events.set_ping("[]\n");
  EXPECT_TRUE(events.ping());
  EXPECT_EQ(events.take(), ": ping\n\n{}\n[]\n");
}

TEST(ListeningSockets, AreOpenedByName) {
  const auto sockets = open_listening_sockets("127.0.0.1:0");
  ASSERT_EQ(sockets.size(), 1U);
  EXPECT_TRUE(sockets[0].loopback);
  EXPECT_TRUE(has(sockets[0].name, {"127.0.0.1:"}));
  EXPECT_TRUE(has(error_of([&] { open_listening_sockets(sockets[0].name); }),
                  {"--listen '" + sockets[0].name, "another program listens there"}));
  for (const char* wrong : {"", "x", "1.2.3.4:99999", "host.example:80", "unix:", "127.0.0.1:x"}) {
    EXPECT_TRUE(has(error_of([&] { open_listening_sockets(wrong); }), {"--listen"})) << wrong;
  }
  EXPECT_TRUE(has(error_of([] { open_listening_sockets("systemd"); }), {"service manager"}));
  close(sockets[0].descriptor);
}

TEST(PercentDecode, RefusesBrokenEscapes) {
  std::string text;
  EXPECT_TRUE(percent_decode("a%2Fb+c", text));
  EXPECT_EQ(text, "a/b+c");
  EXPECT_FALSE(percent_decode("%4", text));
  EXPECT_FALSE(percent_decode("%zz", text));
  EXPECT_FALSE(percent_decode("%00", text));
}

}  // namespace
}  // namespace longhaul::http
