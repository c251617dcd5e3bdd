// Named sessions: /v1/sessions, and llama-server's actions of /slots.

#include "serve/api/session_pages.h"

#include <fmt/format.h>

#include <chrono>
#include <future>

#include "base/clock.h"
#include "base/parse_number.h"
#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostNameBytes = 128;
constexpr double kLongestWait = 600;  // seconds

/// Calls `work` on the engine's thread, with a function that receives the answer.
template <class Answer>
Answer on_engine(Scheduler& scheduler,
                 const std::function<void(std::function<void(Answer)>)>& work) {
  const auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> answer = promise->get_future();
  scheduler.post([work, promise] { work([promise](Answer a) { promise->set_value(a); }); });
  const Stopwatch watch;
  while (answer.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    if (scheduler.stopped() || watch.seconds() > kLongestWait) {
      throw ApiError(503, "server_error", "unavailable", "the engine does not answer");
    }
  }
  return answer.get();
}

SessionAnswer checked(const SessionAnswer& answer, const std::string& name) {
  if (answer.missing) {
    throw ApiError(404, "not_found_error", "session_not_found",
                   fmt::format("{}: {}", name, answer.error));
  }
  if (!answer.error.empty()) {
    throw ApiError(400, "invalid_request_error", "session_failed", answer.error);
  }
  return answer;
}

SessionAnswer save(const ServedModel& model, const std::string& key, const std::string& from,
                   const std::string& name) {
  return checked(on_engine<SessionAnswer>(*model.scheduler,
                                          [&model, key, from, name](auto done) {
                                            model.scheduler->save_session(key, from, name, done);
                                          }),
                 name);
}

SessionAnswer restore(const ServedModel& model, const std::string& key, const std::string& name,
                      const std::string& as) {
  return checked(on_engine<SessionAnswer>(*model.scheduler,
                                          [&model, key, name, as](auto done) {
                                            model.scheduler->restore_session(key, name, as, done);
                                          }),
                 name);
}

Json body_of(const http::HttpRequest& request, std::initializer_list<std::string_view> known) {
  if (request.body.empty()) return Json::object();
  return read_body(request.body, std::vector<std::string_view>(known));
}

}  // namespace

std::string checked_session_name(const std::string& name, const std::string& field) {
  const bool plain = !name.empty() && name.find('/') == std::string::npos &&
                     name.find("..") == std::string::npos && name.size() <= kMostNameBytes &&
                     std::ranges::all_of(name, [](char c) { return c >= ' ' && c != 127; });
  if (!plain) {
    refuse_field(field, "has to be 1 to {} characters without '/' and '..'", kMostNameBytes);
  }
  return name;
}

Json sessions_page(const ServedModel& model, const std::string& key) {
  const auto all = on_engine<std::vector<SessionInfo>>(
      *model.scheduler, [&model, key](auto done) { done(model.scheduler->sessions(key)); });
  Json list = Json::array();
  for (const SessionInfo& each : all) {
    list.push_back({{"id", each.name},
                    {"object", "session"},
                    {"attention", each.method},
                    {"tokens", each.tokens},
                    {"kv_bytes", each.kv_bytes},
                    {"saved", each.saved},
                    {"in_memory", each.in_memory}});
  }
  return {{"object", "list"}, {"data", std::move(list)}};
}

Json delete_session_page(const ServedModel& model, const std::string& key,
                         const std::string& name) {
  checked_session_name(name, "session");
  const auto tokens = on_engine<int64_t>(*model.scheduler, [&model, key, name](auto done) {
    done(model.scheduler->erase_session(key, name));
  });
  if (tokens < 0) {
    throw ApiError(404, "not_found_error", "session_not_found",
                   name + ": there is no such session");
  }
  return {{"id", name}, {"object", "session"}, {"deleted", true}, {"tokens", tokens}};
}

Json session_action_page(const ServedModel& model, const http::HttpRequest& request,
                         const std::string& key, const std::string& name,
                         const std::string& action) {
  checked_session_name(name, "session");
  const Stopwatch watch;
  if (action == "fork") {
    const Json body = body_of(request, {"to"});
    const std::string to = checked_session_name(FieldReader(body).text("to").value_or(""), "to");
    const bool forked = on_engine<bool>(*model.scheduler, [&model, key, name, to](auto done) {
      done(model.scheduler->fork_session(key, name, to));
    });
    if (!forked) {
      throw ApiError(404, "not_found_error", "session_not_found",
                     name + ": there is no such session");
    }
    return {{"id", to}, {"object", "session"}, {"forked_from", name}};
  }
  const SessionAnswer answer =
      action == "save" ? save(model, key, name, name) : restore(model, key, name, name);
  return {{"id", name},
          {"object", "session"},
          {"tokens", answer.tokens},
          {"bytes", answer.bytes},
          {"ms", watch.seconds() * 1000}};
}

Json slot_action_page(const ServedModel& model, const http::HttpRequest& request,
                      const std::string& key, const std::string& slot) {
  int64_t id = 0;
  if (!parse_number(slot, id) || id < 0 || id >= model.parallel) {
    throw ApiError(400, "invalid_request_error", "invalid_slot", "there is no such slot");
  }
  const std::string action = request.parameter("action");
  const Json body = body_of(request, {"filename", "model"});
  const std::string own = fmt::format("slot-{}", id);
  const Stopwatch watch;
  if (action == "erase") {
    const auto tokens = on_engine<int64_t>(*model.scheduler, [&model, key, own](auto done) {
      done(model.scheduler->erase_session(key, own));
    });
    return {{"id_slot", id}, {"n_erased", std::max<int64_t>(0, tokens)}};
  }
  if (action != "save" && action != "restore") {
    throw ApiError(400, "invalid_request_error", "invalid_action",
                   "action has to be save, restore or erase");
  }
  const std::string file =
      checked_session_name(FieldReader(body).text("filename").value_or(""), "filename");
  if (action == "save") {
    // A slot of this server is the conversation that ended last, unless a request named the slot.
    const bool named = on_engine<bool>(*model.scheduler, [&model, key, own](auto done) {
      done(model.scheduler->has_session(key, own));
    });
    const SessionAnswer answer = save(model, key, named ? own : "", file);
    return {{"id_slot", id},
            {"filename", file},
            {"n_saved", answer.tokens},
            {"n_written", answer.bytes},
            {"timings", {{"save_ms", watch.seconds() * 1000}}}};
  }
  const SessionAnswer answer = restore(model, key, file, own);
  return {{"id_slot", id},
          {"filename", file},
          {"n_restored", answer.tokens},
          {"n_read", answer.bytes},
          {"timings", {{"restore_ms", watch.seconds() * 1000}}}};
}

}  // namespace longhaul::serve
