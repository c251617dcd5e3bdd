#pragma once
// GET / and /assets/NAME: the web page of the server.

#include "http/message.h"
#include "http/router.h"

namespace longhaul::serve {

/// Adds the page's paths. They need no key, because they contain nothing of any user.
void add_web_page(http::Router& router);

/// The answer to a request for the file with this name, "" for the page itself.
http::HttpResponse web_response(const http::HttpRequest& request, std::string_view name);

}  // namespace longhaul::serve
