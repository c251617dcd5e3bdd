#pragma once
// Replies that outlive the connection of their client. A request with X-Conversation-Id is computed
// to its end even if its client leaves, and any client with the same key can read its events again,
// from any byte on. The paths and their JSON are those of llama-server.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "http/router.h"

namespace longhaul::serve {

/// The events of one reply, and the clients that read them.
class KeptReply {
 public:
  KeptReply(size_t most_bytes, double now, int64_t started_at)
      : most_(most_bytes), now_(now), started_at_(started_at) {}

  // For the producer.
  void append(std::string_view bytes);
  /// Ends the reply. Later events are dropped.
  void end(double now, int64_t at);
  void on_cancel(std::function<void()> cancel);
  void cancel();

  /// Sends everything from byte `from` on, and then what comes. Returns false if that byte is
  /// gone.
  bool attach(std::shared_ptr<http::EventStream> client, size_t from);

  struct State {
    bool done = false;
    size_t first = 0, total = 0;  ///< the bytes [first, total) are kept
    double ended = 0;             ///< on the clock of the owner
    int64_t started_at = 0, completed_at = 0;
  };
  State state() const;

 private:
  struct Reader {
    std::shared_ptr<http::EventStream> client;
    size_t sent = 0;
  };
  void serve(Reader& reader, bool all);

  const size_t most_;
  const double now_;
  const int64_t started_at_;
  mutable std::mutex mutex_;
  std::string bytes_;   ///< the last ones
  size_t dropped_ = 0;  ///< how many came before them
  bool done_ = false;
  double ended_ = 0;
  int64_t completed_at_ = 0;
  std::vector<Reader> readers_;
  std::function<void()> cancel_;
};

class ReplyStreams {
 public:
  struct Limits {
    size_t bytes = 1 << 20;  ///< bytes of one reply that are kept: the last ones
    double seconds = 300;    ///< for which a complete reply is kept
    size_t complete = 64;    ///< most complete replies
    size_t name = 200;       ///< longest id
  };

  ReplyStreams() : ReplyStreams(Limits()) {}
  explicit ReplyStreams(Limits limits, std::function<double()> clock = {});

  /// Returns an exchange whose answer is kept under `key` and the request's X-Conversation-Id and
  /// also goes to `client`; `client` itself if the request has no such field or is Ollama's. An
  /// earlier reply with this id ends. Throws ApiError for an id that is too long or not printable.
  std::shared_ptr<http::Exchange> keep(const std::shared_ptr<http::Exchange>& client,
                                       const std::string& key);

  /// Answers with the events of the reply `id` from byte `from` on (GET).
  void send(const std::shared_ptr<http::Exchange>& client, const std::string& key,
            const std::string& id);
  /// Stops the reply and forgets it (DELETE).
  http::HttpResponse remove(const std::string& key, const std::string& id);
  /// Lists the replies of `key` whose id is in `ids`, or all.
  http::HttpResponse list(const std::string& key,
                          const std::optional<std::vector<std::string>>& ids);

  /// Adds /v1/stream, /v1/stream/{conv_id}, /v1/streams and /v1/streams/lookup.
  void add_routes(http::Router& router,
                  std::function<std::string(const http::HttpRequest&)> key_of);

 private:
  using Name = std::pair<std::string, std::string>;  ///< key and id

  void add(const Name& name, const std::shared_ptr<KeptReply>& reply);
  std::shared_ptr<KeptReply> find(const Name& name);
  void sweep();

  Limits limits_;
  std::function<double()> clock_;
  std::mutex mutex_;
  std::map<Name, std::shared_ptr<KeptReply>> replies_;
};

}  // namespace longhaul::serve
