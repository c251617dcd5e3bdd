#pragma once
// Serves the web page of the server: GET / and /assets/NAME.

#include "http/message.h"
#include "http/router.h"

namespace longhaul::serve {

/// Adds the paths of the web page. They require no API key, because they contain no data of users.
void add_web_page(http::Router& router);

/// Returns the response to a request for the file `name`. The name "" means the page itself.
http::HttpResponse web_response(const http::HttpRequest& request, std::string_view name);

}  // namespace longhaul::serve
