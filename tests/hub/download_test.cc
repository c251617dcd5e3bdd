// Downloads from a server in this process that answers as each test says.

#include "hub/download.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "base/error_of.h"
#include "base/regular_file.h"
#include "format/temp_folder.h"
#include "hub/http.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::has;
using testing_support::TempFolder;

/// Answers one connection after the other until it ends.
class AnsweringServer {
 public:
  /// Gets the request's head and the connection.
  using Answer = std::function<void(const std::string& request, int connection)>;

  explicit AnsweringServer(Answer answer) : answer_(std::move(answer)) {
    setenv("no_proxy", "127.0.0.1", 1);
    listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address_;
    bind(listening_, reinterpret_cast<sockaddr*>(&address_), length);
    listen(listening_, 8);
    getsockname(listening_, reinterpret_cast<sockaddr*>(&address_), &length);
    thread_ = std::thread([this] { serve(); });
  }
  ~AnsweringServer() {
    shutdown(listening_, SHUT_RDWR);
    thread_.join();
    close(listening_);
  }
  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)) + "/m.gguf";
  }

 private:
  void serve() {
    for (;;) {
      const int connection = accept(listening_, nullptr, nullptr);
      if (connection < 0) return;
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t n = read(connection, buffer, sizeof buffer);
        if (n <= 0) break;
        request.append(buffer, static_cast<size_t>(n));
      }
      answer_(request, connection);
      close(connection);
    }
  }

  Answer answer_;
  sockaddr_in address_ = {};
  int listening_;
  std::thread thread_;
};

bool send_text(int connection, const std::string& text) {
  return send(connection, text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

std::string head(const std::string& status, size_t length, const std::string& more = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(length) +
         "\r\nConnection: close\r\nETag: \"x\"\r\n" + more + "\r\n";
}

std::string numbered_text(size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += std::to_string(i) + "\n";
  text.resize(bytes);
  return text;
}

class Downloads : public testing::Test {
 protected:
  Download what(const AnsweringServer& server) const {
    Download what;
    what.url = server.url();
    what.target = target();
    what.bytes = static_cast<int64_t>(text_.size());
    return what;
  }
  fs::path target() const { return folder_.path() / "m.gguf"; }
  fs::path part() const { return folder_.path() / ".m.gguf.part"; }
  std::string fetched() const { return read_regular_file(target(), 1 << 20); }

  const TempFolder folder_;
  const std::string text_ = numbered_text(100'000);
};

/// First half of the file; then what `range` says of the rest, which begins at `from`.
AnsweringServer::Answer breaks_once(const std::string& text, const std::string& range, size_t from,
                                    const std::string& more = "") {
  return [=](const std::string& request, int connection) {
    if (request.find("Range: bytes=") == std::string::npos) {
      static thread_local int broken = 0;
      const bool whole = broken++ > 0;
      send_text(connection, head("200 OK", text.size()) + (whole ? text : text.substr(0, 50'000)));
      return;
    }
    const std::string rest = text.substr(from);
    send_text(connection, head("206 Partial Content", rest.size(), range + more) + rest);
  };
}

TEST_F(Downloads, ARestThatBeginsWhereItShouldIsTaken) {
  const AnsweringServer server(
      breaks_once(text_, "Content-Range: bytes 50000-99999/100000\r\n", 50'000));
  EXPECT_EQ(download(what(server)), DownloadEnd::kDone);
  EXPECT_EQ(fetched(), text_);
}

TEST_F(Downloads, ARestThatBeginsElsewhereIsNotTaken) {
  for (const std::string range :
       {"Content-Range: bytes 0-49999/100000\r\n", "Content-Range: bytes 50001-99999/100000\r\n",
        "Content-Range: bytes 50000-99999/100001\r\n", "Content-Range: bytes 50000-99999/*\r\n",
        ""}) {
    const TempFolder folder;
    const AnsweringServer server(breaks_once(text_, range, range == "" ? 50'000 : 0));
    Download file = what(server);
    file.target = folder.path() / "m.gguf";
    EXPECT_EQ(download(file), DownloadEnd::kDone) << range;
    EXPECT_EQ(read_regular_file(file.target, 1 << 20), text_) << range;
  }
}

TEST_F(Downloads, ARestOfAnotherFileIsNotTaken) {
  const AnsweringServer server([this](const std::string& request, int connection) {
    const bool rest = request.find("Range: bytes=") != std::string::npos;
    if (!rest) return void(send_text(connection, head("200 OK", text_.size()) + text_));
    std::string other =
        head("206 Partial Content", 50'000, "Content-Range: bytes 50000-99999/100000\r\n");
    other.replace(other.find("\"x\""), 3, "\"y\"");
    send_text(connection, other + std::string(50'000, 'x'));
  });
  folder_.write(".m.gguf.part", text_.substr(0, 50'000));
  folder_.write(".m.gguf.tag", "\"x\"");
  EXPECT_EQ(download(what(server)), DownloadEnd::kDone);
  EXPECT_EQ(fetched(), text_);
}

TEST_F(Downloads, WithoutAVersionOfTheFileAllOfItComesAgain) {
  int asked = 0;
  bool with_range = false;
  const AnsweringServer server([&](const std::string& request, int connection) {
    with_range = with_range || request.find("Range: bytes=") != std::string::npos;
    const std::string begin = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: W/\"x\"\r\n\r\n";
    // The file changes between both attempts.
    send_text(connection, begin + (asked++ == 0 ? std::string(50'000, 'x') : text_));
  });
  EXPECT_EQ(download(what(server)), DownloadEnd::kDone);
  EXPECT_EQ(fetched(), text_);
  EXPECT_FALSE(with_range);
}

TEST_F(Downloads, TheTimeOfTheLastChangeIsAVersionToo) {
  const std::string time = "Last-Modified: Fri, 01 Nov 2024 08:00:00 GMT\r\n";
  int asked = 0;
  const AnsweringServer server([&](const std::string& request, int connection) {
    if (asked++ == 0) {
      send_text(connection, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n" + time + "\r\n" +
                                text_.substr(0, 50'000));
      return;
    }
    EXPECT_NE(request.find("If-Range: Fri, 01 Nov 2024 08:00:00 GMT"), std::string::npos);
    send_text(connection, "HTTP/1.1 206 Partial Content\r\nContent-Length: 50000\r\n" + time +
                              "Content-Range: bytes 50000-99999/100000\r\n\r\n" +
                              text_.substr(50'000));
  });
  EXPECT_EQ(download(what(server)), DownloadEnd::kDone);
  EXPECT_EQ(fetched(), text_);
}

TEST_F(Downloads, AServerThatAlwaysBreaksAndSendsOtherPartsIsGivenUp) {
  const AnsweringServer server([this](const std::string& request, int connection) {
    if (request.find("Range: bytes=") == std::string::npos) {
      send_text(connection, head("200 OK", text_.size()) + text_.substr(0, 50'000));
    } else {
      send_text(
          connection,
          head("206 Partial Content", 100'000, "Content-Range: bytes 0-99999/100000\r\n") + text_);
    }
  });
  EXPECT_TRUE(has(error_of([&] { download(what(server)); }), {server.url()}));
  EXPECT_FALSE(fs::exists(target()));
}

TEST_F(Downloads, AServerThatIsTooSlowIsGivenUp) {
  const AnsweringServer server([this](const std::string&, int connection) {
    send_text(connection, head("200 OK", text_.size()));
    for (int i = 0; i < 100 && send_text(connection, "aa"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  Download file = what(server);
  file.limits.seconds = 1;
  int tries = 1;
  file.retrying = [&](const std::string&) { ++tries; };
  EXPECT_TRUE(has(error_of([&] { download(file); }), {"too slow"}));
  EXPECT_EQ(tries, 4);
}

TEST_F(Downloads, AServerThatSendsAByteAtATimeIsGivenUp) {
  size_t sent = 0;
  const AnsweringServer server([&](const std::string&, int connection) {
    const std::string range = "Content-Range: bytes " + std::to_string(sent) + "-99999/100000\r\n";
    send_text(connection,
              head(sent == 0 ? "200 OK" : "206 Partial Content", text_.size() - sent, range) +
                  text_.substr(sent, 1));
    ++sent;
  });
  EXPECT_NE(error_of([&] { download(what(server)); }), "");
  EXPECT_LT(sent, 10u);
}

TEST_F(Downloads, LinksAndOtherNamesOfAPartAreNotFollowed) {
  const AnsweringServer server([this](const std::string&, int connection) {
    send_text(connection, head("200 OK", text_.size()) + text_);
  });
  const fs::path precious = folder_.write("precious", "precious");
  fs::create_symlink(precious, part());
  EXPECT_TRUE(has(error_of([&] { download(what(server)); }), {".part", "not a regular file"}));
  fs::remove(part());
  fs::create_hard_link(precious, part());
  EXPECT_TRUE(has(error_of([&] { download(what(server)); }), {".part", "other names"}));
  fs::remove(part());
  ASSERT_EQ(mkfifo(part().c_str(), 0600), 0);
  EXPECT_TRUE(has(error_of([&] { download(what(server)); }), {".part", "not a regular file"}));
  EXPECT_EQ(read_regular_file(precious, 100), "precious");
}

TEST_F(Downloads, APipeOrADeviceInPlaceOfATagIsNotRead) {
  const AnsweringServer server([this](const std::string&, int connection) {
    send_text(connection, head("200 OK", text_.size()) + text_);
  });
  const fs::path tag = folder_.path() / ".m.gguf.tag";
  ASSERT_EQ(mkfifo(tag.c_str(), 0600), 0);
  EXPECT_EQ(download(what(server)), DownloadEnd::kDone);
  EXPECT_EQ(fetched(), text_);
  fs::create_symlink("/dev/zero", tag);
  EXPECT_EQ(download(what(server)), DownloadEnd::kDone);
}

TEST_F(Downloads, OneProcessAtATimeFetchesAFile) {
  const AnsweringServer server([this](const std::string&, int connection) {
    send_text(connection, head("200 OK", text_.size()) + text_);
  });
  const int other = open_own_file(part());
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  EXPECT_TRUE(has(error_of([&] { download(what(server)); }), {"m.gguf", "another process"}));
  EXPECT_TRUE(fs::exists(part()));
  close(other);
  EXPECT_EQ(download(what(server)), DownloadEnd::kDone);
}

TEST_F(Downloads, HeadersAreThoseOfTheLastAnswerAndEnd) {
  int asked = 0;
  const AnsweringServer server([&](const std::string&, int connection) {
    if (++asked == 1) {
      send_text(connection,
                "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\nX-A: 1"
                "\r\nConnection: close\r\n\r\n");
    } else if (asked == 2) {
      send_text(connection, head("200 OK", 1) + "a");
    } else {
      send_text(connection, "HTTP/1.1 200 OK\r\n");
      const std::string line = "X-B: " + std::string(10'000, 'b') + "\r\n";
      for (int i = 0; i < 1000 && send_text(connection, line); ++i) {
      }
    }
  });
  std::string text;
  const HttpResponse r = http_get_text({.url = server.url()}, 10, text);
  EXPECT_EQ(text, "a");
  EXPECT_EQ(r.headers.count("x-a"), 0u);
  EXPECT_EQ(r.headers.count("etag"), 1u);
  EXPECT_NE(http_get_text({.url = server.url()}, 10, text).problem, "");
}

}  // namespace
}  // namespace longhaul
