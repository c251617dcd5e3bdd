#pragma once
// Maps the method and path of a request to a handler.

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
  /// The path pattern. "{name}" matches one segment of the path, or the rest of the path if it is
  /// the last segment. It matches at least one character.
  std::string path;
  Handler handler;
  bool open = false;    ///< whether the path requires no API key
  bool upload = false;  ///< whether the body may be of type multipart/form-data
};

class Router {
 public:
  void add(Route route);

  /// Returns the route, or null. If several patterns match, the longest one is used, whatever
  /// methods the others have. `allow` is set to the methods of that pattern ("GET, POST"), or is
  /// empty if no route has this path. HEAD uses the route of GET.
  const Route* find(std::string_view method, std::string_view path, std::string& allow) const;

  const std::vector<Route>& routes() const { return routes_; }

  /// Returns the part of `path` that matches the final "{...}" of the route.
  static std::string_view rest(const Route& route, std::string_view path);
  /// Returns the part of `path` that matches "{name}" of the route. The result is empty if there is
  /// none.
  static std::string part(const Route& route, std::string_view path, std::string_view name);

 private:
  std::vector<Route> routes_;
};

}  // namespace longhaul::http
