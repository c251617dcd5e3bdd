#pragma once
// Ollama's API: what its programs read of a model, and the parts that pages and replies share.

#include <string>

#include "http/message.h"
#include "serve/api/json_text.h"
#include "serve/served_model.h"

namespace longhaul::serve {

/// The version of Ollama whose API this is. Programs compare it with what they need.
inline constexpr const char* kOllamaVersion = "0.12.11";

/// A time as "2026-11-27T23:41:41Z".
std::string rfc3339(std::chrono::system_clock::time_point time);
/// The time of now, with microseconds.
std::string rfc3339_now();

Json ollama_tags_page(const ServedModel& model, const http::HttpRequest& request);
Json ollama_ps_page(const ServedModel& model, const http::HttpRequest& request);
Json ollama_show_page(const ServedModel& model, const http::HttpRequest& request);

}  // namespace longhaul::serve
