#pragma once
// Keeps the streamed replies of requests with the header X-Conversation-Id. Such a reply is
// computed to its end even if the client disconnects. Any client with the same API key can read its
// events again, from any byte on. The paths and their JSON are those of llama-server.

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

/// The bytes of one reply's event stream, and the clients that read them.
class KeptReply {
 public:
  KeptReply(size_t most_bytes, double now, int64_t started_at)
      : most_(most_bytes), now_(now), started_at_(started_at) {}

  // The producer of the reply calls append(), end() and on_cancel(). cancel() calls the function
  // that on_cancel() has set.
  void append(std::string_view bytes);
  /// Ends the reply. Later events are ignored.
  void end(double now, int64_t at);
  void on_cancel(std::function<void()> cancel);
  void cancel();

  /// Sends all bytes from byte `from` on to `client`, and then all further bytes as they arrive.
  /// Returns false if byte `from` is no longer kept.
  bool attach(std::shared_ptr<http::EventStream> client, size_t from);

  struct State {
    bool done = false;
    size_t first = 0, total = 0;  ///< bytes [first, total) are kept
    double ended = 0;             ///< time at which the reply ended, by the clock of ReplyStreams
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
  std::string bytes_;   ///< the most recent bytes
  size_t dropped_ = 0;  ///< number of earlier bytes, which are no longer in bytes_
  bool done_ = false;
  double ended_ = 0;
  int64_t completed_at_ = 0;
  std::vector<Reader> readers_;
  std::function<void()> cancel_;
};

class ReplyStreams {
 public:
  struct Limits {
    /// Number of bytes that are kept of a reply; only its last bytes are kept.
    size_t bytes = 1 << 20;
    double seconds = 300;  ///< seconds for which a complete reply is kept
    size_t complete = 64;  ///< largest number of complete replies that are kept
    size_t name = 200;     ///< largest length of an id in bytes
  };

  ReplyStreams() : ReplyStreams(Limits()) {}
  explicit ReplyStreams(Limits limits, std::function<double()> clock = {});

  /// Returns an exchange to which the response must be written. The response is then stored under
  /// `key` and the request's X-Conversation-Id, and is also sent to `client`. If the request has no
  /// such header, or is a request of Ollama's API, returns `client` itself. An earlier reply with
  /// the same key and id is cancelled. Throws ApiError if the id is too long or not printable.
  std::shared_ptr<http::Exchange> keep(const std::shared_ptr<http::Exchange>& client,
                                       const std::string& key);

  /// Responds to a GET request: sends the events of the reply `id` to the client, starting at the
  /// byte that the request names in "from".
  void send(const std::shared_ptr<http::Exchange>& client, const std::string& key,
            const std::string& id);
  /// Responds to a DELETE request: stops the computation of the reply `id` and removes it.
  http::HttpResponse remove(const std::string& key, const std::string& id);
  /// Returns the list of all kept replies of the API key `key`. If `ids` is set, lists only replies
  /// with these ids.
  http::HttpResponse list(const std::string& key,
                          const std::optional<std::vector<std::string>>& ids);

  /// Adds /v1/stream, /v1/stream/{conv_id}, /v1/streams and /v1/streams/lookup.
  void add_routes(http::Router& router,
                  std::function<std::string(const http::HttpRequest&)> key_of);

 private:
  using Name = std::pair<std::string, std::string>;  ///< API key and id

  void add(const Name& name, const std::shared_ptr<KeptReply>& reply);
  std::shared_ptr<KeptReply> find(const Name& name);
  void sweep();

  Limits limits_;
  std::function<double()> clock_;
  std::mutex mutex_;
  std::map<Name, std::shared_ptr<KeptReply>> replies_;
};

}  // namespace longhaul::serve
