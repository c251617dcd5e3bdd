#include "documents/pages_beyond.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/units.h"

namespace longhaul {

void warn_pages_beyond(const PageRanges& chosen, int64_t count, const std::string& name) {
  std::string beyond;
  bool several = false;
  const std::string_view text = chosen.text();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t dash = std::min(part.find('-'), part.size());
    const std::string_view last_text = dash < part.size() ? part.substr(dash + 1) : part;
    int64_t first = 1, last = 0;
    parse_number(part.substr(0, dash), first);
    const bool open = !parse_number(last_text, last);
    first = std::max(first, count + 1);
    if (open ? PageRanges::parse(part).contains(count) : last <= count) continue;
    several = several || open || last > first || !beyond.empty();
    beyond += beyond.empty() ? "" : ", ";
    beyond += std::to_string(first);
    if (open) beyond += "-";
    if (!open && last > first) beyond += fmt::format("-{}", last);
  }
  if (beyond.empty()) return;
  warn("{} has {}; {} {} not exist", name, counted(count, "page"),
       (several ? "pages " : "page ") + beyond, several ? "do" : "does");
}

}  // namespace longhaul
