#pragma once
// A Router finds the handler for the method and path of a request.

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
  /// The path pattern, such as "/v1/models/{id}". "{name}" matches one segment of the path. At the
  /// end of the pattern, it matches the rest of the path, which may have several segments. It
  /// matches at least one character.
  std::string path;
  Handler handler;
  bool open = false;    ///< whether the path requires no API key
  bool upload = false;  ///< whether the body may be of type multipart/form-data
};

class Router {
 public:
  void add(Route route);

  /// Returns the route for a request, or null if there is none. If several patterns match the path,
  /// only the routes with the longest pattern are considered. `allow` is set to the methods of
  /// these routes ("GET, POST"), or to an empty text if no pattern matches. For HEAD, returns the
  /// route of GET.
  const Route* find(std::string_view method, std::string_view path, std::string& allow) const;

  const std::vector<Route>& routes() const { return routes_; }

  /// Returns the part of `path` that matches the "{name}" at the end of the route's pattern.
  static std::string_view rest(const Route& route, std::string_view path);
  /// Returns the part of `path` that matches "{name}" in the route's pattern, for the given name.
  /// The result is empty if the pattern has no such name.
  static std::string part(const Route& route, std::string_view path, std::string_view name);

 private:
  std::vector<Route> routes_;
};

}  // namespace longhaul::http
