#include "serve/cache/cache_report.h"

#include <fmt/format.h>

#include "base/units.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr int64_t kWorthALine = 256;  // tokens that were prefilled although they might be cached

}  // namespace

std::string_view name_of(MissReason reason) {
  switch (reason) {
    case MissReason::kNone:
      return "none";
    case MissReason::kFirst:
      return "first";
    case MissReason::kText:
      return "text";
    case MissReason::kTools:
      return "tools";
    case MissReason::kMethod:
      return "method";
    case MissReason::kEvicted:
      return "evicted";
    case MissReason::kSettings:
      return "settings";
    case MissReason::kOff:
      return "off";
  }
  return "none";
}

std::string log_line(const CacheReport& report, int64_t prompt_tokens) {
  if (report.reason == MissReason::kNone || report.reason == MissReason::kFirst ||
      report.reason == MissReason::kOff) {
    return {};
  }
  const bool diverge = report.reason == MissReason::kText || report.reason == MissReason::kTools;
  const int64_t again = (diverge ? prompt_tokens : report.reusable) - report.reused;
  if (again < kWorthALine) return {};
  std::string line = fmt::format("reread {} tokens: ", with_commas(again));
  if (!diverge) return line + std::string(name_of(report.reason));
  return line + fmt::format("{}, \"{}\" was \"{}\"",
                            report.message.empty() ? "prompt" : report.message,
                            one_line(report.request_text), one_line(report.cached_text));
}

}  // namespace longhaul::serve
