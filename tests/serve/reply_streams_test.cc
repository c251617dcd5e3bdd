// Replies that outlive their client, and the files of the web page.

#include "serve/reply_streams.h"

#include <gtest/gtest.h>

#include "mock_server.h"
#include "serve/api/api_error.h"
#include "serve/web_files.h"
#include "serve/web_page.h"

namespace longhaul::serve {
namespace {

using testing_support::Answer;
using testing_support::MockServer;

/// A client of ReplyStreams without a socket.
struct StreamClient {
  explicit StreamClient(http::Fields fields = {}, std::string query = "") {
    http::HttpRequest request;
    request.fields = std::move(fields);
    request.query = std::move(query);
    http::Exchange::Way way;
    way.reply = [this](http::HttpResponse response) { answer = std::move(response); };
    way.stream = [this](http::HttpResponse, std::shared_ptr<http::EventStream> stream) {
      events = std::move(stream);
    };
    way.stream_bytes = 100;
    exchange = std::make_shared<http::Exchange>(std::move(request), std::move(way));
  }

  std::string text() { return events ? events->take() : ""; }

  std::optional<http::HttpResponse> answer;
  std::shared_ptr<http::EventStream> events;
  std::shared_ptr<http::Exchange> exchange;
};

http::Fields conversation(const std::string& id) { return {{"X-Conversation-Id", id}}; }

Json listed(ReplyStreams& streams, const std::string& key = "") {
  return Json::parse(streams.list(key, std::nullopt).body);
}

TEST(ReplyStreams, RequestWithoutAnIdIsNotKept) {
  ReplyStreams streams;
  StreamClient client;
  EXPECT_EQ(streams.keep(client.exchange, ""), client.exchange);
  EXPECT_TRUE(listed(streams).empty());
}

TEST(ReplyStreams, ReplyGoesOnAfterItsClientHasLeft) {
  ReplyStreams streams;
  StreamClient first(conversation("a"));
  const auto kept = streams.keep(first.exchange, "");
  bool cancelled = false;
  kept->on_close([&] { cancelled = true; });
  const auto producer = kept->stream();
  producer->send("one");
  EXPECT_EQ(first.text(), "data: one\n\n");
  first.events->close();
  first.exchange->close();
  producer->send("two");
  EXPECT_FALSE(cancelled);

  StreamClient second({}, "from=11");  // behind the first event
  streams.send(second.exchange, "", "a");
  EXPECT_EQ(second.text(), "data: two\n\n");
  producer->send("three");
  EXPECT_EQ(second.text(), "data: three\n\n");
  producer->finish();
  EXPECT_TRUE(second.events->ended());

  StreamClient late;
  streams.send(late.exchange, "", "a");
  EXPECT_EQ(late.text(), "data: one\n\ndata: two\n\ndata: three\n\n");
  EXPECT_TRUE(late.events->ended());
  EXPECT_EQ(listed(streams)[0]["is_done"], true);
  EXPECT_EQ(listed(streams)[0]["total_bytes"], 35);
}

TEST(ReplyStreams, DeleteStopsTheReply) {
  ReplyStreams streams;
  StreamClient client(conversation("a"));
  const auto kept = streams.keep(client.exchange, "");
  bool cancelled = false;
  kept->on_close([&] { cancelled = true; });
  const auto producer = kept->stream();
  EXPECT_EQ(streams.remove("", "a").status, 204);
  EXPECT_TRUE(cancelled);
  EXPECT_TRUE(client.events->ended());
  producer->send("late");
  EXPECT_TRUE(listed(streams).empty());
  EXPECT_EQ(streams.remove("", "a").status, 204);  // again
}

TEST(ReplyStreams, SecondReplyWithAnIdEndsTheFirst) {
  ReplyStreams streams;
  StreamClient one(conversation("a")), two(conversation("a"));
  const auto first = streams.keep(one.exchange, "");
  bool cancelled = false;
  first->on_close([&] { cancelled = true; });
  first->stream()->send("one");
  const auto second = streams.keep(two.exchange, "");
  EXPECT_TRUE(cancelled);
  second->stream()->send("two");
  StreamClient reader;
  streams.send(reader.exchange, "", "a");
  EXPECT_EQ(reader.text(), "data: two\n\n");
}

TEST(ReplyStreams, KeysDoNotSeeEachOther) {
  ReplyStreams streams;
  StreamClient client(conversation("a"));
  const auto kept = streams.keep(client.exchange, "alice");
  kept->stream()->send("secret");
  StreamClient other;
  streams.send(other.exchange, "bob", "a");
  EXPECT_EQ(other.answer->status, 404);
  streams.remove("bob", "a");
  EXPECT_TRUE(listed(streams, "bob").empty());
  EXPECT_EQ(listed(streams, "alice").size(), 1u);
}

TEST(ReplyStreams, OnlyTheLastBytesAreKept) {
  ReplyStreams streams({.bytes = 1000});
  StreamClient client(conversation("a"));
  const auto kept = streams.keep(client.exchange, "");
  const auto producer = kept->stream();
  for (int i = 0; i < 300; ++i) producer->send("0123456789");  // 18 bytes each
  StreamClient early, broken({}, "from=x");
  streams.send(early.exchange, "", "a");
  EXPECT_EQ(early.answer->status, 400);
  streams.send(broken.exchange, "", "a");
  EXPECT_EQ(broken.answer->status, 400);
  StreamClient late({}, "from=5382");  // the last event
  streams.send(late.exchange, "", "a");
  EXPECT_EQ(late.text(), "data: 0123456789\n\n");
  // A client that reads nothing is let go, and its queue does not grow.
  producer->finish();
  EXPECT_LE(client.text().size(), 2000u);
  EXPECT_TRUE(client.events->ended());
}

TEST(ReplyStreams, CompleteRepliesAreForgotten) {
  double now = 0;
  ReplyStreams streams({.seconds = 300, .complete = 2}, [&] { return now; });
  for (const char* id : {"a", "b", "c"}) {
    StreamClient client(conversation(id));
    streams.keep(client.exchange, "")->stream()->finish();
    now += 1;
  }
  StreamClient running(conversation("r"));
  const auto kept = streams.keep(running.exchange, "");
  EXPECT_EQ(listed(streams).size(), 3u);  // b, c, r
  now = 301.5;
  EXPECT_EQ(listed(streams).size(), 2u);  // c ended at 2
  now = 1e6;
  ASSERT_EQ(listed(streams).size(), 1u);  // no running reply is forgotten
  EXPECT_EQ(listed(streams)[0]["conversation_id"], "r");
}

TEST(ReplyStreams, RefusalReachesTheClientAndLaterReaders) {
  ReplyStreams streams;
  StreamClient client(conversation("a"));
  const auto kept = streams.keep(client.exchange, "");
  kept->reply(http::error_response(503, "server_error", "overloaded", "full"));
  EXPECT_EQ(client.answer->status, 503);
  StreamClient reader;
  streams.send(reader.exchange, "", "a");
  EXPECT_NE(reader.text().find("overloaded"), std::string::npos);
  EXPECT_TRUE(reader.events->ended());
}

TEST(ReplyStreams, IdsAreChecked) {
  ReplyStreams streams;
  for (const std::string& id :
       {std::string(201, 'a'), std::string("a b"), std::string("\xc3\xa4")}) {
    StreamClient client(conversation(id));
    EXPECT_THROW(streams.keep(client.exchange, ""), ApiError) << id;
  }
}

TEST(ReplyStreams, ServerKeepsTheEventsOfAReply) {
  MockServer server;
  const Json body = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}, {"stream", true}};
  const Answer live = server.post("/v1/chat/completions", body, conversation("conv-1"));
  const Answer again = server.get("/v1/stream/conv-1");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, live.body);
  const Json list = server.get("/v1/streams").json();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["conversation_id"], "conv-1");
  const Json found =
      server.post("/v1/streams/lookup", {{"conversation_ids", {"conv-1", "x"}}}).json();
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(server.post("/v1/streams/lookup", {{"conversation_ids", 3}}).status, 400);
  EXPECT_EQ(server.ask("DELETE", "/v1/stream/conv-1", "").status, 204);
  EXPECT_EQ(server.get("/v1/stream/conv-1").status, 404);
}

http::HttpResponse file_answer(std::string_view name, http::Fields fields = {}) {
  http::HttpRequest request;
  request.fields = std::move(fields);
  return web_response(request, name);
}

std::string field_of(const http::HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.fields) {
    if (key == name) return value;
  }
  return "";
}

TEST(WebPage, FilesAreServedPlainAndCompressed) {
  size_t bytes = 0;
  for (const WebFile& file : web_files()) {
    EXPECT_EQ(file_answer(file.name).body, file.plain);
    const auto small = file_answer(file.name, {{"Accept-Encoding", "br, gzip;q=0.8"}});
    EXPECT_EQ(small.body, file.gzip);
    EXPECT_EQ(field_of(small, "Content-Encoding"), "gzip");
    bytes += file.gzip.size();
    const auto same = file_answer(file.name, {{"If-None-Match", std::string(file.etag)}});
    EXPECT_EQ(same.status, 304);
    EXPECT_TRUE(same.body.empty());
  }
  EXPECT_LE(bytes, size_t{60} << 10);
  EXPECT_EQ(field_of(file_answer("", {{"Accept-Encoding", "gzip;q=0"}}), "Content-Encoding"), "");
  EXPECT_EQ(file_answer("no.js").status, 404);
  EXPECT_EQ(file_answer("../index.html").status, 404);
}

TEST(WebPage, PageForbidsForeignContentAndFrames) {
  const auto page = file_answer("");
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(field_of(page, "Content-Security-Policy"),
            "default-src 'self'; frame-ancestors 'none'");
}

TEST(WebPage, PageNeedsNoKeyAndCanBeLeftOut) {
  ServiceOptions with_keys;
  with_keys.keys = ApiKeys::parse("me " + std::string(64, 'a') + "\n", "keys");
  MockServer locked({}, std::move(with_keys));
  EXPECT_EQ(locked.get("/").status, 200);
  EXPECT_EQ(locked.get("/assets/page.css").status, 200);
  EXPECT_EQ(locked.get("/v1/models").status, 401);
  EXPECT_EQ(locked.get("/v1/streams").status, 401);
  ServiceOptions without;
  without.web = false;
  MockServer bare({}, std::move(without));
  EXPECT_EQ(bare.get("/").body, "Ollama is running") << "as that API has it";
  EXPECT_EQ(bare.get("/assets/page.css").status, 404);
}

}  // namespace
}  // namespace longhaul::serve
