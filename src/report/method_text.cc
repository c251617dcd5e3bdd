#include "report/method_text.h"

#include <algorithm>

#include "eval/record.h"

namespace longhaul {

std::string_view method_name(std::string_view method) {
  return of_control(method) ? method : method.substr(0, method.find(':'));
}

std::vector<std::string_view> method_options(std::string_view method) {
  std::vector<std::string_view> options;
  if (of_control(method)) return options;
  for (size_t at = method.find(':'); at != std::string_view::npos;) {  // at a ':' or ','
    const size_t comma = method.find(',', at + 1);
    options.push_back(method.substr(at + 1, comma - at - 1));
    at = comma;
  }
  return options;
}

std::string short_method(std::string_view method, std::span<const std::string> all) {
  if (of_control(method)) return std::string(method.substr(kControlPrefix.size()));
  const std::string_view name = method_name(method);
  std::string text(name);
  for (const std::string_view option : method_options(method)) {
    const bool shared = std::ranges::all_of(all, [&](const std::string& other) {
      if (method_name(other) != name) return true;
      const std::vector<std::string_view> theirs = method_options(other);
      return std::ranges::find(theirs, option) != theirs.end();
    });
    if (shared) continue;
    text += text.size() == name.size() ? ':' : ',';
    text += option;
  }
  return text;
}

}  // namespace longhaul
