// Documents without sockets and without a real engine.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>

#include "format/temp_folder.h"
#include "serve/documents/document_search.h"
#include "serve/documents/text_places.h"
#include "serve/mock_server.h"

namespace longhaul::serve {
namespace {

using longhaul::testing_support::TempFolder;
using testing_support::Answer;
using testing_support::MockServer;
using testing_support::nano;

const std::string kShips =
    "[page 1]\nOn ships.\n\nThe Fünf sailed in May. Nobody saw it again.\n\n"
    "[page 2]\nThe harbour master wrote a letter. The letter names the cargo: tea.\n";

Json wait_for(MockServer& server, const std::string& id, const std::string& status = "ready") {
  for (int i = 0; i < 1000; ++i) {
    const Answer answer = server.get("/v1/documents/" + id);
    if (answer.status != 200 || answer.json()["status"] == status) return answer.json();
    usleep(10'000);
  }
  return server.get("/v1/documents/" + id).json();
}

Json add_text(MockServer& server, const std::string& text, Json more = Json::object()) {
  more["text"] = text;
  const Answer answer = server.post("/v1/documents", more);
  EXPECT_EQ(answer.status, 202) << answer.body;
  return answer.json();
}

Json chat_about(const std::string& id, const std::string& question) {
  return {{"documents", {id}}, {"messages", {{{"role", "user"}, {"content", question}}}}};
}

TEST(Documents, AreReadOnceAndAnswerQuestions) {
  MockServer server;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "Line " + std::to_string(i) + " of the report.\n";
  const Json added = add_text(server, text, {{"name", "../folder/report.txt"}});
  EXPECT_EQ(added["object"], "document");
  EXPECT_EQ(added["name"], "report.txt");
  EXPECT_TRUE(added["id"].get<std::string>().starts_with("doc_"));
  EXPECT_EQ(added["id"].get<std::string>().size(), 36u);
  const std::string id = added["id"];
  const Json ready = wait_for(server, id);
  EXPECT_EQ(ready["status"], "ready") << ready;
  EXPECT_EQ(ready["characters"], text.size());
  EXPECT_EQ(ready["pages"], 0);
  EXPECT_EQ(ready["progress"]["done"], ready["tokens"]);
  EXPECT_GT(ready["kv_bytes"].get<int64_t>(), 0);

  const Json reply = server.post("/v1/chat/completions", chat_about(id, "How many lines?")).json();
  const Json whole = {
      {"messages",
       {{{"role", "user"}, {"content", text.substr(0, text.size() - 1) + "\n\nHow many lines?"}}}},
      {"cache_prompt", false}};
  const Json same = server.post("/v1/chat/completions", whole).json();
  EXPECT_EQ(reply["usage"]["prompt_tokens"], same["usage"]["prompt_tokens"]) << reply << same;
  EXPECT_EQ(reply["choices"][0]["message"]["content"], server.reply);
  const int64_t cached = reply["usage"]["prompt_tokens_details"]["cached_tokens"];
  EXPECT_GE(cached, ready["tokens"].get<int64_t>() - 32);
  EXPECT_EQ(reply["longhaul"]["documents"], Json::array({id}));

  const Json list = server.get("/v1/documents").json();
  ASSERT_EQ(list["data"].size(), 1u);
  EXPECT_EQ(list["data"][0]["id"], id);
  const Answer deleted = server.ask("DELETE", "/v1/documents/" + id, "");
  EXPECT_EQ(deleted.json(), Json({{"id", id}, {"object", "document"}, {"deleted", true}}));
  EXPECT_EQ(server.get("/v1/documents").json()["data"].size(), 0u);
}

TEST(Documents, SystemAndMethodOfTheDocumentAreUsed) {
  MockServer server;
  const Json added =
      add_text(server, kShips, {{"attention", "streamingllm"}, {"system", "Answer in Latin."}});
  EXPECT_EQ(added["system"], "Answer in Latin.");
  wait_for(server, added["id"]);
  const Json reply = server.post("/v1/chat/completions", chat_about(added["id"], "What?")).json();
  EXPECT_EQ(reply["longhaul"]["attention"], added["attention"]);
  Json written;
  written["messages"] =
      Json::parse(R"([{"role": "system", "content": "Answer in Latin."}, {"role": "user"}])");
  written["messages"][1]["content"] = kShips.substr(0, kShips.size() - 1) + "\n\nWhat?";
  const Json same = server.post("/v1/chat/completions", written).json();
  EXPECT_EQ(reply["usage"]["prompt_tokens"], same["usage"]["prompt_tokens"]);
  Json dense = chat_about(added["id"], "What?");
  dense["attention"] = "dense";
  const Json other = server.post("/v1/chat/completions", dense).json();
  EXPECT_EQ(other["longhaul"]["attention"], "dense");
}

TEST(Documents, UnknownDeletedAndForeignOnesAreTheSame) {
  ServiceOptions options;
  // SHA-256 of "one" and "two".
  options.keys = ApiKeys::parse(
      "a 7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed\n"
      "b 3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3\n",
      "keys");
  MockServer server({}, options);
  const http::Fields one = {{"X-Api-Key", "one"}}, two = {{"X-Api-Key", "two"}};
  const Answer added = server.post("/v1/documents", {{"text", kShips}}, one);
  ASSERT_EQ(added.status, 202) << added.body;
  const std::string id = added.json()["id"];
  const auto words = [&](const Answer& answer, const std::string& of) {
    EXPECT_EQ(answer.status, 404);
    std::string text = answer.body;
    const size_t at = text.find(of);
    return at == std::string::npos ? text : text.replace(at, of.size(), "ID");
  };
  const std::string unknown = "doc_00000000000000000000000000000000";
  const std::string expected =
      words(server.ask("GET", "/v1/documents/" + unknown, "", one), unknown);
  for (const char* path : {"", "/text", "/map", "/passages?text=a"}) {
    EXPECT_EQ(words(server.ask("GET", "/v1/documents/" + id + path, "", two), id), expected);
  }
  EXPECT_EQ(words(server.ask("DELETE", "/v1/documents/" + id, "", two), id), expected);
  EXPECT_EQ(words(server.post("/v1/chat/completions", chat_about(id, "?"), two), id), expected);
  EXPECT_EQ(server.ask("GET", "/v1/documents", "", two).json()["data"].size(), 0u);
  EXPECT_EQ(server.ask("DELETE", "/v1/documents/" + id, "", one).status, 200);
  EXPECT_EQ(words(server.ask("GET", "/v1/documents/" + id, "", one), id), expected);
  EXPECT_EQ(words(server.post("/v1/chat/completions", chat_about(id, "?"), one), id), expected);
}

TEST(Documents, TextPagesAndPassagesAreInCharacters) {
  MockServer server;
  const std::string id = add_text(server, kShips)["id"];
  const Json text = server.get("/v1/documents/" + id + "/text").json();
  EXPECT_EQ(text["text"], kShips);
  EXPECT_EQ(text["characters"], kShips.size() - 1);  // ü has two bytes
  ASSERT_EQ(text["pages"].size(), 2u);
  EXPECT_EQ(text["pages"][0], Json({{"page", 1}, {"from", 0}, {"to", text["pages"][1]["from"]}}));
  const int64_t from = text["pages"][1]["from"], to = text["pages"][1]["to"];
  const Json second = server
                          .get("/v1/documents/" + id + "/text?from=" + std::to_string(from) +
                               "&to=" + std::to_string(from + 8))
                          .json();
  EXPECT_EQ(second["text"], "[page 2]");
  EXPECT_EQ(server.get("/v1/documents/" + id + "/text?from=9&to=3").status, 400);
  EXPECT_EQ(server.get("/v1/documents/" + id + "/text?to=" + std::to_string(to + 1)).status, 400);
  EXPECT_EQ(server.get("/v1/documents/" + id + "/text?from=x").status, 400);

  const Json found =
      server.get("/v1/documents/" + id + "/passages?text=The%20LETTER%20names").json();
  EXPECT_EQ(found["exact"], true);
  ASSERT_EQ(found["data"].size(), 1u);
  EXPECT_EQ(found["data"][0]["page"], 2);
  const int64_t begin = found["data"][0]["from"], end = found["data"][0]["to"];
  const Json part = server
                        .get("/v1/documents/" + id + "/text?from=" + std::to_string(begin) +
                             "&to=" + std::to_string(end))
                        .json();
  EXPECT_EQ(part["text"], found["data"][0]["text"]);
  const Json similar = server.get("/v1/documents/" + id + "/passages?text=which%20cargo").json();
  EXPECT_EQ(similar["exact"], false);
  ASSERT_GE(similar["data"].size(), 1u);
  EXPECT_NE(similar["data"][0]["text"].get<std::string>().find("cargo"), std::string::npos);
  EXPECT_EQ(server.get("/v1/documents/" + id + "/passages").status, 400);
}

TEST(Documents, MapsAndForks) {
  MockServer server;
  const std::string id = add_text(server, kShips)["id"];
  const Json ready = wait_for(server, id);
  const Json map = server.get("/v1/documents/" + id + "/map").json();
  EXPECT_EQ(map["tokens"], ready["tokens"]);
  EXPECT_LE(map["bins"].get<int>(), 512);
  ASSERT_EQ(map["kept"].size(), map["layers"]);
  ASSERT_EQ(map["kept"][0][0].size(), map["bins"]);
  EXPECT_EQ(map["kept"][0][0][0], 1.0);
  EXPECT_GT(map["text_from"].get<int>(), 0);
  const Answer fork = server.post("/v1/documents/" + id + "/fork", {{"attention", "streamingllm"}});
  ASSERT_EQ(fork.status, 202) << fork.body;
  EXPECT_NE(fork.json()["id"], id);
  EXPECT_NE(fork.json()["attention"], ready["attention"]);
  EXPECT_EQ(wait_for(server, fork.json()["id"])["status"], "ready");
  EXPECT_EQ(server.post("/v1/documents/" + id + "/fork", {{"attention", "none"}}).status, 400);
  EXPECT_EQ(server.post("/v1/documents/" + id + "/fork", Json::object()).status, 400);
}

TEST(Documents, AdviceHasARowForEveryMethod) {
  MockServer server;
  const Json ready = wait_for(server, add_text(server, kShips)["id"]);
  const Json advice = server.post("/v1/advise", {{"document", ready["id"]}}).json();
  EXPECT_EQ(advice["tokens"], ready["tokens"]);
  EXPECT_EQ(advice["attention"], "dense");
  ASSERT_GT(advice["data"].size(), 5u);
  const Json& dense = advice["data"][0];
  EXPECT_EQ(dense["name"], "dense");
  EXPECT_EQ(dense["fits"], true);
  EXPECT_EQ(dense["sources"], true);
  EXPECT_EQ(dense["recommended"], true);
  EXPECT_FALSE(dense["keeps"].get<std::string>().empty());
  for (const Json& row : advice["data"]) EXPECT_EQ(row["sources"], true) << row["name"];
  const std::string path = "/v1/documents/" + ready["id"].get<std::string>() + "/advise";
  EXPECT_EQ(server.get(path).json()["data"].size(), advice["data"].size());
  EXPECT_EQ(server.post("/v1/advise", {{"document", "doc_0"}}).status, 404);
  EXPECT_EQ(server.post("/v1/advise", Json::object()).status, 400);
}

TEST(Documents, WrongBodiesAreRefused) {
  SchedulerOptions scheduling;
  scheduling.context = 200;
  MockServer server({}, {}, scheduling);
  const auto code = [&](const Json& body, int status) {
    const Answer answer = server.post("/v1/documents", body);
    EXPECT_EQ(answer.status, status) << answer.body;
    return answer.json()["error"]["code"];
  };
  EXPECT_EQ(code(Json::object(), 400), "invalid_value");
  EXPECT_EQ(code({{"text", "a"}, {"file_id", "file-1"}}, 400), "invalid_value");
  EXPECT_EQ(code({{"text", 7}}, 400), "invalid_value");
  EXPECT_EQ(code({{"text", " \n"}}, 422), "no_text");
  EXPECT_EQ(code({{"text", "a"}, {"attention", "nothing"}}, 400), "unknown_attention");
  EXPECT_EQ(code({{"text", "a"}, {"persist", true}}, 400), "invalid_value");
  EXPECT_EQ(code({{"file_id", "file-1"}}, 404), "document_not_found");
  std::string words;
  for (int i = 0; i < 300; ++i) words += "word ";
  EXPECT_EQ(code({{"text", words}}, 400), "context_length_exceeded");
  const Answer plain = server.ask("POST", "/v1/documents", "x", {{"Content-Type", "text/plain"}});
  EXPECT_EQ(plain.status, 415);
  EXPECT_EQ(server.get("/v1/documents").json()["data"].size(), 0u);
  const Json bad = {{"documents", "doc"}, {"messages", {{{"role", "user"}, {"content", "a"}}}}};
  EXPECT_EQ(server.post("/v1/chat/completions", bad).status, 400);
}

TEST(Documents, TooLargeForTheMemoryNamesWhatFits) {
  MockSettings settings;
  settings.bytes_per_token = 16 << 20;  // 64 tokens in 1 GiB
  MockServer server(settings);
  std::string words;
  for (int i = 0; i < 100; ++i) words += "word ";
  const Answer answer = server.post("/v1/documents", {{"text", words}});
  EXPECT_EQ(answer.status, 400);
  const Json error = answer.json()["error"];
  EXPECT_EQ(error["code"], "insufficient_memory") << answer.body;
  EXPECT_TRUE(error["fits"].is_array());
  EXPECT_GT(error["needed"], error["limit"]);
}

/// An engine that waits in its first step until the test lets it go on.
struct Latch {
  std::atomic<bool> reached = false, open = false;
  MockSettings settings() {
    MockSettings made;
    made.fault = [this](std::span<const int32_t>) {
      reached = true;
      for (int i = 0; i < 2000 && !open; ++i) usleep(5000);
    };
    return made;
  }
  void wait() const {
    for (int i = 0; i < 2000 && !reached; ++i) usleep(5000);
  }
};

TEST(Documents, AQuestionWaitsForItsDocument) {
  Latch latch;
  MockServer server(latch.settings());
  const std::string id = add_text(server, kShips)["id"];
  latch.wait();
  std::thread opens([&] {
    usleep(200'000);
    latch.open = true;
  });
  const Json reply = server.post("/v1/chat/completions", chat_about(id, "What?")).json();
  opens.join();
  EXPECT_EQ(reply["choices"][0]["message"]["content"], server.reply) << reply;
  EXPECT_EQ(wait_for(server, id)["status"], "ready");
}

TEST(Documents, DeletionEndsTheWaitOfAQuestion) {
  Latch latch;
  MockServer server(latch.settings());
  const std::string id = add_text(server, kShips)["id"];
  latch.wait();
  std::thread deletes([&] {
    usleep(200'000);
    server.ask("DELETE", "/v1/documents/" + id, "");
    latch.open = true;
  });
  const Answer answer = server.post("/v1/chat/completions", chat_about(id, "What?"));
  deletes.join();
  EXPECT_EQ(answer.status, 404) << answer.body;
  EXPECT_EQ(answer.json()["error"]["code"], "document_deleted");
}

TEST(Documents, ProgressIsAStreamOfStates) {
  MockServer server;
  const std::string id = add_text(server, kShips)["id"];
  const std::vector<std::string> events =
      server.get("/v1/documents/" + id + "?stream=true").events();
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(Json::parse(events[events.size() - 2])["status"], "ready");

  Latch latch;
  MockServer slow(latch.settings());
  const std::string other = add_text(slow, kShips)["id"];
  latch.wait();
  std::thread deletes([&] {
    usleep(100'000);
    slow.ask("DELETE", "/v1/documents/" + other, "");
    latch.open = true;
  });
  const std::vector<std::string> ended =
      slow.get("/v1/documents/" + other + "?stream=true").events();
  deletes.join();
  ASSERT_GE(ended.size(), 2u);
  EXPECT_EQ(Json::parse(ended[ended.size() - 2])["error"]["code"], "document_deleted");
}

/// A server with a converter whose tools the test provides.
class Uploads : public ::testing::Test {
 protected:
  Uploads() : path_(std::getenv("PATH")) {
    setenv("PATH", (tools_.path().string() + ":" + path_).c_str(), 1);
    ServiceOptions options;
    options.converter = std::make_shared<const ConverterProcess>(ConverterLimits());
    server_ = std::make_unique<MockServer>(MockSettings(), options);
    converter_ = options.converter;
  }
  ~Uploads() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("LONGHAUL_CONVERT_SECONDS");
  }
  void tool(const std::string& name, const std::string& script) {
    chmod(tools_.write(name, "#!/bin/sh\n" + script + "\n").c_str(), 0755);
  }
  Answer upload(const std::string& path, const std::string& name, const std::string& bytes,
                const std::string& more = "") {
    const std::string body = "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" +
                             name + "\"\r\n\r\n" + bytes + "\r\n" + more + "--B--\r\n";
    return server_->ask("POST", path, body, {{"Content-Type", "multipart/form-data; boundary=B"}});
  }
  std::string path_;
  TempFolder tools_;
  std::shared_ptr<const ConverterProcess> converter_;
  std::unique_ptr<MockServer> server_;
};

TEST_F(Uploads, PdfsBecomeDocuments) {
  tool("pdftotext", "cat >/dev/null; printf 'The first page.\\n\\fThe second page.\\n'");
  const Answer answer = upload("/v1/documents", "C:\\a\\b.pdf", "%PDF-1.7\nx",
                               "--B\r\nContent-Disposition: form-data; name=\"attention\"\r\n\r\n"
                               "streamingllm\r\n");
  ASSERT_EQ(answer.status, 202) << answer.body;
  const Json ready = wait_for(*server_, answer.json()["id"]);
  EXPECT_EQ(ready["status"], "ready");
  EXPECT_EQ(ready["name"], "b.pdf");
  EXPECT_EQ(ready["pages"], 2);
  EXPECT_EQ(ready["made"], "PDF, 2 pages, by pdftotext");
  EXPECT_NE(ready["attention"].get<std::string>().find("streamingllm"), std::string::npos);
}

TEST_F(Uploads, ProblemsHaveTheirOwnStatus) {
  tool("pdftotext", "cat >/dev/null; printf '\\f'");
  const Answer scanned = upload("/v1/documents", "a.pdf", "%PDF-1.7\nx");
  EXPECT_EQ(scanned.status, 422) << scanned.body;
  EXPECT_EQ(scanned.json()["error"]["code"], "no_text");
  EXPECT_NE(scanned.body.find("no text in it: it needs OCR first"), std::string::npos);
  const Answer picture = upload("/v1/documents", "a.png", "\x89PNG\r\n\x1a\nxx");
  EXPECT_EQ(picture.status, 415);
  EXPECT_EQ(picture.json()["error"]["code"], "unsupported_format");
  EXPECT_EQ(picture.json()["error"]["formats"][1], "PDF");
  tool("pdftotext", "cat >/dev/null; echo 'Incorrect password' >&2; exit 1");
  const Answer locked = upload("/v1/documents", "a.pdf", "%PDF-1.7\nx");
  EXPECT_EQ(locked.status, 422);
  EXPECT_EQ(locked.json()["error"]["code"], "encrypted");
  EXPECT_NE(locked.body.find("needs a password"), std::string::npos);
  const std::pair<const char*, const char*> others[] = {
      {"echo 'xref 7 not found' >&2; exit 1", "conversion_failed"},
      {"echo 'out of memory' >&2; exit 1", "conversion_memory"},
      {"head -c 300000000 /dev/zero | tr '\\0' x", "text_too_long"}};
  for (const auto& [script, code] : others) {
    tool("pdftotext", std::string("cat >/dev/null; ") + script);
    const Answer refused = upload("/v1/documents", "a.pdf", "%PDF-1.7\nx");
    EXPECT_EQ(refused.status, 422) << script;
    EXPECT_EQ(refused.json()["error"]["code"], code) << refused.body;
  }
  EXPECT_EQ(server_->get("/v1/documents").json()["data"].size(), 0u);
  const Answer two = upload("/v1/documents", "a.txt", "x",
                            "--B\r\nContent-Disposition: form-data; name=\"file\"; "
                            "filename=\"b\"\r\n\r\ny\r\n");
  EXPECT_EQ(two.status, 400);
}

TEST_F(Uploads, SlowConversionsGoOnBehindTheAnswer) {
  setenv("LONGHAUL_CONVERT_SECONDS", "4", 1);
  tool("pdftotext", "cat >/dev/null; sleep 2.5; echo Text of a slow file.");
  const Answer answer = upload("/v1/documents", "slow.pdf", "%PDF-1.7\nx");
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.json()["status"], "converting");
  const std::string id = answer.json()["id"];
  EXPECT_EQ(server_->get("/v1/documents/" + id + "/text").status, 409);
  // A question waits for the conversion, too.
  const Json reply = server_->post("/v1/chat/completions", chat_about(id, "What?")).json();
  EXPECT_EQ(reply["choices"][0]["message"]["content"], server_->reply) << reply;
}

TEST_F(Uploads, ADocumentThatFailsLateSaysSo) {
  tool("pdftotext", "cat >/dev/null; sleep 2.5; exit 1");
  const Answer answer = upload("/v1/documents", "slow.pdf", "%PDF-1.7\nx");
  ASSERT_EQ(answer.status, 202);
  const std::string id = answer.json()["id"];
  const Json failed = wait_for(*server_, id, "failed");
  EXPECT_EQ(failed["error"]["status"], 422) << failed;
  const Answer asked = server_->post("/v1/chat/completions", chat_about(id, "What?"));
  EXPECT_EQ(asked.status, 422);
}

TEST_F(Uploads, WithoutTheConverterRepliesContinue) {
  EXPECT_EQ(server_->get("/health/ready").status, 200);
  kill(converter_->id(), SIGKILL);
  for (int i = 0; i < 1000 && converter_->alive(); ++i) usleep(1000);
  EXPECT_EQ(upload("/v1/documents", "a.txt", "text").status, 503);
  const Answer ready = server_->get("/health/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.json()["error"]["code"], "converter_unavailable");
  EXPECT_EQ(server_->get("/health").status, 200);
  EXPECT_EQ(server_->post("/v1/documents", {{"text", "A text."}}).status, 202);
}

TEST_F(Uploads, FilesAreTextsInMessages) {
  const Answer answer = upload("/v1/files", "a.txt", "The key is 7.\n");
  ASSERT_EQ(answer.status, 202) << answer.body;
  const std::string id = answer.json()["id"];
  EXPECT_TRUE(id.starts_with("file-"));
  EXPECT_EQ(server_->get("/v1/files/" + id).json()["status"], "processed");
  EXPECT_EQ(server_->get("/v1/files/" + id + "/content").body, "The key is 7.\n");
  EXPECT_EQ(server_->get("/v1/files").json()["data"].size(), 1u);
  EXPECT_EQ(server_->get("/v1/documents").json()["data"].size(), 0u);
  const Json part = {{"type", "file"}, {"file", {{"file_id", id}}}};
  const Json body = {
      {"messages",
       {{{"role", "user"}, {"content", {part, {{"type", "text"}, {"text", "Which key?"}}}}}}}};
  const Answer reply = server_->post("/v1/chat/completions", body);
  EXPECT_EQ(reply.status, 200) << reply.body;
  const Json plain = {
      {"messages", {{{"role", "user"}, {"content", "The key is 7.\n\nWhich key?"}}}}};
  EXPECT_EQ(reply.json()["usage"]["prompt_tokens"],
            server_->post("/v1/chat/completions", plain).json()["usage"]["prompt_tokens"]);
  const Answer document = server_->post("/v1/documents", {{"file_id", id}});
  EXPECT_EQ(document.status, 202);
  EXPECT_EQ(document.json()["name"], "a.txt");
  EXPECT_EQ(server_->ask("DELETE", "/v1/files/" + id, "").json()["deleted"], true);
  EXPECT_EQ(server_->post("/v1/chat/completions", body).status, 404);
}

TEST(TextPlaces, CountsCharactersAndPages) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += i % 7 == 0 ? "\xe2\x82\xac" : "a";
  text += "\n[page 3]\nb\n[page x]\n";
  const TextPlaces places(text);
  size_t characters = 0;
  for (size_t byte = 0; byte < text.size(); ++byte) {
    if ((static_cast<unsigned char>(text[byte]) & 0xc0) == 0x80) continue;
    ASSERT_EQ(places.character_of(text, byte), characters);
    ASSERT_EQ(places.byte_of(text, characters), byte);
    ++characters;
  }
  EXPECT_EQ(places.characters(), characters);
  EXPECT_EQ(places.byte_of(text, characters + 5), text.size());
  ASSERT_EQ(places.pages().size(), 1u);
  EXPECT_EQ(places.page_of(10), 0);
  EXPECT_EQ(places.page_of(characters - 1), 3);
}

TEST(DocumentSearch, FindsSentencesAcrossLinesAndCases) {
  const std::string text = "One sentence here. The treaty\nwas signed in May. Another one.";
  const FoundPassages found = find_passages(text, "TREATY was", 5);
  EXPECT_TRUE(found.exact);
  ASSERT_EQ(found.ranges.size(), 1u);
  EXPECT_TRUE(find_passages("", "a", 5).ranges.empty());
  EXPECT_TRUE(find_passages(text, " \n", 5).ranges.empty());
  EXPECT_TRUE(find_passages(text, "zebra", 5).ranges.empty());
}

}  // namespace
}  // namespace longhaul::serve
