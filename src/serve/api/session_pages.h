#pragma once
// Computes the responses of paths that list, save, restore, fork and delete sessions. A session is
// a named conversation of an API key whose keys and values are kept.

#include <string>

#include "http/message.h"
#include "serve/api/json_text.h"
#include "serve/served_model.h"

namespace longhaul::serve {

/// Returns `name`. Throws ApiError that names the member `field` if `name` is not a valid name of a
/// session.
std::string checked_session_name(const std::string& name, const std::string& field);

// The following functions throw ApiError if the request cannot be fulfilled. They wait until the
// engine's thread has done the work.

Json sessions_page(const ServedModel& model, const std::string& key);
Json delete_session_page(const ServedModel& model, const std::string& key, const std::string& name);
/// Performs `action`, which is save, restore or fork.
Json session_action_page(const ServedModel& model, const http::HttpRequest& request,
                         const std::string& key, const std::string& name,
                         const std::string& action);
/// Responds to llama-server's POST /slots/ID?action=save|restore|erase.
Json slot_action_page(const ServedModel& model, const http::HttpRequest& request,
                      const std::string& key, const std::string& slot);

}  // namespace longhaul::serve
