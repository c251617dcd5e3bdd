#pragma once
// Implements the paths of Ollama's API that report properties of the model. Also has functions that
// these paths share with the paths that generate replies.

#include <string>

#include "http/message.h"
#include "serve/api/json_text.h"
#include "serve/served_model.h"

namespace longhaul::serve {

/// The version of Ollama whose API the server implements. Clients compare this version with the
/// version that they require.
inline constexpr const char* kOllamaVersion = "0.12.11";

/// Returns the time in the form "2026-11-27T23:41:41Z".
std::string rfc3339(std::chrono::system_clock::time_point time);
/// Returns the current time in this form, with microseconds.
std::string rfc3339_now();

Json ollama_tags_page(const ServedModel& model, const http::HttpRequest& request);
Json ollama_ps_page(const ServedModel& model, const http::HttpRequest& request);
Json ollama_show_page(const ServedModel& model, const http::HttpRequest& request);

}  // namespace longhaul::serve
