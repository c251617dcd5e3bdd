// Texts of strangers on their way to a terminal, a message or the tokenizer: in one piece and in
// two, which the first byte cuts.

#include <string>
#include <string_view>

#include "attempt.h"
#include "text/encodings.h"
#include "text/printable.h"
#include "text/terminal_text.h"
#include "text/utf8.h"

namespace {

using namespace longhaul;
using fuzzing::check;

/// Whether a text is UTF-8 without characters that a terminal obeys.
bool is_harmless(std::string_view text, bool with_lines) {
  while (!text.empty()) {
    const Utf8Sequence next = read_utf8(text);
    const uint32_t c = next.code_point;
    if (next.status != Utf8Status::complete || changes_layout(c)) return false;
    const bool line = c == '\n' || c == '\t';
    if (!(with_lines && line) && (c < 0x20 || (c >= 0x7f && c < 0xa0))) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

bool is_utf8(std::string_view text) {
  std::string storage;
  size_t replaced = 0;
  repair_utf8(text, storage, &replaced);
  return replaced == 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = terminal_text(text);
  check(is_harmless(whole, true));
  TerminalText pieces;
  const size_t cut = data[0] % (text.size() + 1);
  std::string joined = pieces.push(text.substr(0, cut)) + pieces.push(text.substr(cut));
  joined += pieces.push(" ");
  joined.pop_back();
  check(joined == whole);
  check(is_harmless(one_line(text), false));
  check(is_harmless(printable(text), false));
  for (const char* encoding : {"UTF-16LE", "UTF-16BE", "CP1252"}) {
    size_t broken = 0;
    check(is_utf8(to_utf8(text, encoding, broken)));
  }
  is_windows_1252(text);
  return 0;
}
