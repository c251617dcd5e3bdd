#include "serve/api/cache_fields.h"

#include <fmt/format.h>

#include "serve/api/api_error.h"
#include "serve/api/session_pages.h"

namespace longhaul::serve {
namespace {

constexpr double kLongestSeconds = 30 * 86'400;
constexpr size_t kLongestSalt = 256;

}  // namespace

void read_cache_fields(const FieldReader& fields, Job& job) {
  job.cache_salt = fields.text("cache_salt").value_or("");
  if (job.cache_salt.size() > kLongestSalt) {
    refuse_field("cache_salt", "is longer than {} bytes", kLongestSalt);
  }
  if (const auto session = fields.text("session"); session && !session->empty()) {
    checked_session_name(*session, "session");
  }
  const Json* own = fields.find("longhaul");
  if (own == nullptr) return;
  if (!own->is_object()) refuse_field("longhaul", "is no object");
  const auto seconds = own->find("cache_seconds");
  if (seconds == own->end() || seconds->is_null()) return;
  const double value = seconds->is_number() ? seconds->get<double>() : -1;
  if (!(value >= 0 && value <= kLongestSeconds)) {
    refuse_field("longhaul.cache_seconds", "is not a number from 0 to {}", kLongestSeconds);
  }
  job.cache_seconds = value;
}

std::vector<PromptPart> parts_of(std::string_view text, const Json& messages, bool tools) {
  std::vector<PromptPart> parts;
  size_t at = 0;
  int number = 0;
  for (const Json& message : messages) {
    ++number;
    const auto content = message.find("content");
    if (content == message.end() || !content->is_string()) continue;
    const auto& said = content->get_ref<const std::string&>();
    if (said.empty()) continue;
    size_t begin = text.find(said, at);
    if (begin == std::string_view::npos) continue;  // the template changes it
    const std::string role = message.value("role", std::string());
    const bool is_system = role == "system";
    // Templates write tools beside the system message, or before the first other one.
    if (tools && parts.empty() && (begin > 256 || !is_system)) parts.push_back({"tools", 0});
    parts.push_back(
        {is_system ? "system message" : fmt::format("message {} ({})", number, role), begin});
    at = begin + said.size();
    if (tools && is_system) parts.push_back({"tools", at});
  }
  return parts;
}

Json cache_json(const CacheReport& report) {
  Json json = {
      {"reused", report.reused},
      {"reusable", report.reusable},
      {"exact", report.exact},
      {"reason", report.reason == MissReason::kNone ? Json() : Json(name_of(report.reason))}};
  if (report.at < 0) return json;
  json["message"] = report.message;
  json["at"] = report.at;
  json["cached_text"] = report.cached_text;
  json["request_text"] = report.request_text;
  return json;
}

}  // namespace longhaul::serve
