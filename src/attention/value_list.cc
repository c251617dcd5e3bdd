#include "attention/value_list.h"

#include <algorithm>

namespace longhaul {

std::vector<std::string_view> split_values(std::string_view text) {
  std::vector<std::string_view> values;
  while (!text.empty()) {
    const size_t end = std::min(text.find('/'), text.size());
    values.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return values;
}

}  // namespace longhaul
