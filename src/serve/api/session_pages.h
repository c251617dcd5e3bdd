#pragma once
// Named sessions of a key, for Service.

#include <string>

#include "http/message.h"
#include "serve/api/json_text.h"
#include "serve/served_model.h"

namespace longhaul::serve {

/// Throws ApiError unless `name` can name a session.
std::string checked_session_name(const std::string& name, const std::string& field);

// All throw ApiError. They wait for the engine's thread.

Json sessions_page(const ServedModel& model, const std::string& key);
Json delete_session_page(const ServedModel& model, const std::string& key, const std::string& name);
/// `action`: save, restore or fork.
Json session_action_page(const ServedModel& model, const http::HttpRequest& request,
                         const std::string& key, const std::string& name,
                         const std::string& action);
/// llama-server's POST /slots/ID?action=save|restore|erase.
Json slot_action_page(const ServedModel& model, const http::HttpRequest& request,
                      const std::string& key, const std::string& slot);

}  // namespace longhaul::serve
