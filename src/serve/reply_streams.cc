#include "serve/reply_streams.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "serve/api/api_error.h"
#include "serve/api/json_text.h"

namespace longhaul::serve {
namespace {

using http::Exchange;
using http::HttpResponse;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

HttpResponse no_such_stream() {
  return http::error_response(404, "not_found_error", "not_found",
                              "no reply with this id is kept: it has ended more than the kept time "
                              "ago, or its id is another one");
}

/// The byte that a client names as "from"; 0 without one, nothing for a broken number.
std::optional<size_t> first_byte(const std::string& text) {
  size_t from = 0;
  if (text.empty()) return from;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), from);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return from;
}

bool printable_id(std::string_view id) {
  return std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

/// The ids of a lookup: {"conversation_ids": [...]}.
std::vector<std::string> ids_of(const std::string& body) {
  constexpr std::string_view kKnown[] = {"conversation_ids"};
  const Json parsed = read_body(body, kKnown);
  std::vector<std::string> ids;
  if (!parsed.contains("conversation_ids") || !parsed["conversation_ids"].is_array()) {
    refuse_field("conversation_ids", "a list of texts is expected");
  }
  for (const Json& id : parsed["conversation_ids"]) {
    if (id.is_string()) ids.push_back(id.get<std::string>());
  }
  return ids;
}

}  // namespace

ReplyStreams::ReplyStreams(Limits limits, std::function<double()> clock)
    : limits_(limits), clock_(clock ? std::move(clock) : steady_seconds) {}

std::shared_ptr<Exchange> ReplyStreams::keep(const std::shared_ptr<Exchange>& client,
                                             const std::string& key) {
  const std::string id(client->request.field("X-Conversation-Id"));
  // Lines of JSON, as Ollama's clients read them, have no events that could be sent again.
  if (id.empty() || client->request.path.starts_with("/api/")) return client;
  if (id.size() > limits_.name || !printable_id(id)) {
    throw ApiError(400, "invalid_request_error", "invalid_request",
                   "X-Conversation-Id: at most 200 printable characters without blanks");
  }
  auto reply = std::make_shared<KeptReply>(limits_.bytes, clock_(), unix_time());
  auto inner = std::make_shared<std::weak_ptr<Exchange>>();
  const auto end = [reply, client, inner, clock = clock_] {
    if (const auto exchange = inner->lock()) client->set_note(exchange->note());
    reply->end(clock(), unix_time());
  };
  Exchange::Way way;
  way.stream = [reply, client, end](HttpResponse, std::shared_ptr<http::EventStream> made) {
    if (!client->closed()) reply->attach(client->stream(), 0);
    made->on_data([reply, end, events = std::weak_ptr(made)] {
      const auto open = events.lock();
      if (!open) return;
      reply->append(open->take());
      if (open->ended()) end();
    });
  };
  way.reply = [reply, client, end](HttpResponse response) {
    if (response.status != 200) reply->append("data: " + response.body + "\n\n");
    end();
    client->reply(std::move(response));
  };
  auto exchange = std::make_shared<Exchange>(client->request, std::move(way));
  *inner = exchange;
  reply->on_cancel([inner] {
    if (const auto open = inner->lock()) open->close();
  });
  add({key, id}, reply);
  return exchange;
}

void ReplyStreams::add(const Name& name, const std::shared_ptr<KeptReply>& reply) {
  std::shared_ptr<KeptReply> earlier;
  {
    const std::lock_guard lock(mutex_);
    sweep();
    earlier = std::exchange(replies_[name], reply);
  }
  if (!earlier) return;
  earlier->cancel();
  earlier->end(clock_(), unix_time());
}

/// Forgets complete replies that are old, and the oldest if there are too many.
void ReplyStreams::sweep() {
  std::vector<std::pair<double, Name>> complete;
  const double now = clock_();
  for (auto it = replies_.begin(); it != replies_.end();) {
    const KeptReply::State state = it->second->state();
    if (state.done && now - state.ended >= limits_.seconds) {
      it = replies_.erase(it);
      continue;
    }
    if (state.done) complete.emplace_back(state.ended, it->first);
    ++it;
  }
  std::sort(complete.begin(), complete.end());
  for (size_t i = 0; i + limits_.complete < complete.size(); ++i) {
    replies_.erase(complete[i].second);
  }
}

std::shared_ptr<KeptReply> ReplyStreams::find(const Name& name) {
  const std::lock_guard lock(mutex_);
  sweep();
  const auto found = replies_.find(name);
  return found == replies_.end() ? nullptr : found->second;
}

void ReplyStreams::send(const std::shared_ptr<Exchange>& client, const std::string& key,
                        const std::string& id) {
  const auto reply = find({key, id});
  if (!reply) return client->reply(no_such_stream());
  const auto from = first_byte(client->request.parameter("from"));
  if (!from || *from < reply->state().first) {
    return client->reply(http::error_response(
        400, "invalid_request_error", "invalid_request",
        from ? "from: this byte is no longer kept, because only the last ones of a reply are"
             : "from: a number of bytes is expected"));
  }
  const auto events = client->stream();
  if (!reply->attach(events, *from)) events->finish();  // dropped in this moment
}

HttpResponse ReplyStreams::remove(const std::string& key, const std::string& id) {
  std::shared_ptr<KeptReply> reply;
  {
    const std::lock_guard lock(mutex_);
    if (auto node = replies_.extract(Name{key, id})) reply = node.mapped();
  }
  if (reply) {
    reply->cancel();
    reply->end(clock_(), unix_time());
  }
  HttpResponse response;
  response.status = 204;
  return response;
}

HttpResponse ReplyStreams::list(const std::string& key,
                                const std::optional<std::vector<std::string>>& ids) {
  Json all = Json::array();
  const std::lock_guard lock(mutex_);
  sweep();
  for (const auto& [name, reply] : replies_) {
    if (name.first != key) continue;
    if (ids && std::find(ids->begin(), ids->end(), name.second) == ids->end()) continue;
    const KeptReply::State state = reply->state();
    all.push_back({{"conversation_id", name.second},
                   {"is_done", state.done},
                   {"total_bytes", state.total},
                   {"started_at", state.started_at},
                   {"completed_at", state.completed_at}});
  }
  HttpResponse response;
  response.body = text_of(all);
  return response;
}

void ReplyStreams::add_routes(http::Router& router,
                              std::function<std::string(const http::HttpRequest&)> key_of) {
  const std::string path = "/v1/stream", with_id = "/v1/stream/{conv_id}";
  const auto id_of = [path](const http::HttpRequest& request) {
    return request.path == path ? request.parameter("conv_id")
                                : request.path.substr(path.size() + 1);
  };
  for (const std::string& each : {path, with_id}) {
    router.add({"GET", each, [this, key_of, id_of](const std::shared_ptr<Exchange>& e) {
                  send(e, key_of(e->request), id_of(e->request));
                }});
    router.add({"DELETE", each, [this, key_of, id_of](const std::shared_ptr<Exchange>& e) {
                  e->reply(remove(key_of(e->request), id_of(e->request)));
                }});
  }
  router.add({"GET", "/v1/streams", [this, key_of](const std::shared_ptr<Exchange>& e) {
                const std::string id = e->request.parameter("conversation_id");
                std::optional<std::vector<std::string>> ids;
                if (!id.empty()) ids = {id};
                e->reply(list(key_of(e->request), ids));
              }});
  router.add({"POST", "/v1/streams/lookup", [this, key_of](const std::shared_ptr<Exchange>& e) {
                try {
                  e->reply(list(key_of(e->request), ids_of(e->request.body)));
                } catch (const ApiError& error) {
                  e->reply(response_of(error));
                }
              }});
}

}  // namespace longhaul::serve
