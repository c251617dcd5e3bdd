#include "jinja/clock.h"

#include "jinja/library.h"
#include "jinja/objects.h"

namespace longhaul::jinja {
namespace {

/// Formats one directive such as %d or %-d, for a time without time zone like Python's
/// datetime.now().
std::string written(const std::string& directive, const std::tm& now) {
  const char what = directive.back();
  if (what == 'f') return "000000";
  if (what == 'z' || what == 'Z') return "";
  char bytes[64];
  return {bytes, std::strftime(bytes, sizeof bytes, directive.c_str(), &now)};
}

String formatted(const String& format, const std::tm& now, Budget& budget) {
  constexpr std::string_view kFlags = "-_0^#",
                             kKnown = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZf%";
  const std::string_view text = format.bytes();
  String out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '%') {
      if (end < text.size() && kFlags.find(text[end]) != std::string_view::npos) ++end;
      if (end < text.size() && kKnown.find(text[end]) != std::string_view::npos) {
        out.append(written(std::string(text.substr(at, end + 1 - at)), now), Origin::kTemplate);
        at = end + 1;
        continue;
      }
      end = at + 1;
    }
    out.append(format, at, end);
    at = end;
    budget.spend();
    budget.check_length(out.size());
  }
  return out;
}

}  // namespace

std::tm day(int year, int month, int day_of_month) {
  std::tm wanted{};
  wanted.tm_year = year - 1900;
  wanted.tm_mon = month - 1;
  wanted.tm_mday = day_of_month;
  const std::time_t seconds = timegm(&wanted);  // also fills in the day of the week and of the year
  std::tm complete{};
  gmtime_r(&seconds, &complete);
  return complete;
}

Value strftime_now(const std::tm& now, bool defined) {
  return function(
      [now](Interpreter& interpreter, const Arguments& arguments) {
        const Parameters given(arguments, {"format"});
        const String format = to_text(given[0], interpreter.budget());
        interpreter.budget().spend(16 * format.size());
        return Value(formatted(format, now, interpreter.budget()));
      },
      defined);
}

}  // namespace longhaul::jinja
