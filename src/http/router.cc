#include "http/router.h"

namespace longhaul::http {
namespace {

bool is_name(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

/// Whether `path` has the pattern's form. `found`, if given, receives the part of the path that
/// matches "{name}".
bool matches_pattern(std::string_view pattern, std::string_view path, std::string_view name = {},
                     std::string_view* found = nullptr) {
  for (;;) {
    const size_t pattern_end = std::min(pattern.find('/'), pattern.size());
    const std::string_view expected = pattern.substr(0, pattern_end);
    const bool last = pattern_end == pattern.size();
    const size_t end =
        is_name(expected) && last ? path.size() : std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    if (is_name(expected)) {
      if (segment.empty()) return false;
      if (found != nullptr && expected.substr(1, expected.size() - 2) == name) *found = segment;
    } else if (segment != expected) {
      return false;
    }
    if (last || end == path.size()) return last && end == path.size();
    pattern.remove_prefix(pattern_end + 1);
    path.remove_prefix(end + 1);
  }
}

}  // namespace

void Router::add(Route route) { routes_.push_back(std::move(route)); }

const Route* Router::find(std::string_view method, std::string_view path,
                          std::string& allow) const {
  allow.clear();
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  // A longer pattern has more fixed parts.
  std::string_view longest;
  for (const Route& route : routes_) {
    const bool longer = route.path.size() > longest.size();
    if (longer && matches_pattern(route.path, path)) longest = route.path;
  }
  const Route* found = nullptr;
  for (const Route& route : routes_) {
    if (longest.empty() || route.path != longest) continue;
    allow += (allow.empty() ? "" : ", ") + route.method;
    if (route.method == wanted && found == nullptr) found = &route;
  }
  return found;
}

std::string_view Router::rest(const Route& route, std::string_view path) {
  const size_t fixed = std::min(route.path.rfind('{'), route.path.size());
  return path.substr(std::min(path.size(), fixed));
}

std::string Router::part(const Route& route, std::string_view path, std::string_view name) {
  std::string_view found;
  matches_pattern(route.path, path, name, &found);
  return std::string(found);
}

}  // namespace longhaul::http
