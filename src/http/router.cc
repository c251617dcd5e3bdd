#include "http/router.h"

namespace longhaul::http {
namespace {

/// Length of the fixed part.
size_t fixed_part(const Route& route) { return std::min(route.path.find('{'), route.path.size()); }

bool matches_path(const Route& route, std::string_view path) {
  const size_t fixed = fixed_part(route);
  if (fixed == route.path.size()) return path == route.path;
  return path.size() > fixed && path.substr(0, fixed) == route.path.substr(0, fixed);
}

}  // namespace

void Router::add(Route route) { routes_.push_back(std::move(route)); }

const Route* Router::find(std::string_view method, std::string_view path,
                          std::string& allow) const {
  allow.clear();
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : routes_) {
    if (!matches_path(route, path)) continue;
    if (route.method == wanted) return &route;
    allow += (allow.empty() ? "" : ", ") + route.method;
  }
  return nullptr;
}

std::string_view Router::rest(const Route& route, std::string_view path) {
  return path.substr(std::min(path.size(), fixed_part(route)));
}

}  // namespace longhaul::http
