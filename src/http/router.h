#pragma once
// Maps method and path to a function.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"

namespace longhaul::http {

using Handler = std::function<void(const std::shared_ptr<Exchange>&)>;

struct Route {
  std::string method;
  /// "{name}" matches a segment of the path, and as the last segment the rest of the path; at
  /// least one character in both cases.
  std::string path;
  Handler handler;
  bool open = false;    ///< needs no key
  bool upload = false;  ///< the body may be multipart/form-data
};

class Router {
 public:
  void add(Route route);

  /// The route, or null; of several matching patterns the longest one counts. `allow` receives the
  /// methods of the path ("GET, POST"), or is empty if no route has this path. HEAD uses the route
  /// of GET.
  const Route* find(std::string_view method, std::string_view path, std::string& allow) const;

  const std::vector<Route>& routes() const { return routes_; }

  /// The part of `path` that matches the final "{...}" of the route.
  static std::string_view rest(const Route& route, std::string_view path);
  /// The part of `path` that matches "{name}" of the route; empty if there is none.
  static std::string part(const Route& route, std::string_view path, std::string_view name);

 private:
  std::vector<Route> routes_;
};

}  // namespace longhaul::http
