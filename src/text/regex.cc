#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"

namespace longhaul {

namespace {

// A run of n blanks costs patterns such as `\s*[\r\n]+|\s+` about n steps, so the bound must allow
// megabytes of blanks. A pattern that explodes still ends within seconds.
constexpr uint32_t kMatchLimit = 200'000'000;
constexpr uint32_t kHeapLimitKiB = 256 * 1024;
constexpr uint32_t kDepthLimit = 1'000'000;          // for recursive groups
constexpr size_t kLongestPattern = size_t{1} << 20;  // bytes; real ones have some hundred
constexpr size_t kJitStackBytes = 4 * 1024 * 1024;

/// Per-thread state for matching; PCRE2 does not allow threads to share it.
struct MatchScratch {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 * 1024, kJitStackBytes, nullptr);

  MatchScratch() {
    LH_ASSERT(data != nullptr && context != nullptr);
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKiB);
    pcre2_set_depth_limit(context, kDepthLimit);
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~MatchScratch() {
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    if (stack != nullptr) pcre2_jit_stack_free(stack);
  }
  MatchScratch(const MatchScratch&) = delete;
  MatchScratch& operator=(const MatchScratch&) = delete;
};

std::string error_text(int code) {
  PCRE2_UCHAR buffer[160];
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

Regex::Regex(std::string_view pattern, std::string where)
    : pattern_(pattern), where_(std::move(where)) {
  if (pattern.size() > kLongestPattern) {
    user_error("{}: pattern of {} bytes; at most {} are supported", where_, pattern.size(),
               kLongestPattern);
  }
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &offset, nullptr);
  if (compiled == nullptr) {
    user_error("{}: pattern is malformed at byte {}: {}", where_, offset, error_text(code));
  }
  code_ = std::shared_ptr<const void>(
      compiled, [](void* p) { pcre2_code_free(static_cast<pcre2_code*>(p)); });
  jit_ = pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE) == 0;
}

std::optional<RegexMatch> Regex::find(std::string_view text, size_t from) const {
  thread_local MatchScratch scratch;
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  int found = PCRE2_ERROR_JIT_STACKLIMIT;
  if (jit_) {
    found = pcre2_jit_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, scratch.data,
                            scratch.context);
  }
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter keeps its state on the heap
    found = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                        scratch.data, scratch.context);
  }
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) {
    user_error("{}: the pattern cannot be matched against this text: {}", where_,
               error_text(found));
  }
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(scratch.data);
  // \K moves a match's beginning, in a subroutine of a lookbehind even to before the search.
  // Continuing after such a match would find it again forever.
  if (offsets[0] < from || offsets[1] < offsets[0] || offsets[1] > text.size()) {
    user_error(
        "{}: the pattern finds a match from byte {} to {} when looked for from byte {} on (\\K in "
        "a "
        "group that a lookaround calls); such patterns are not supported",
        where_, offsets[0], offsets[1], from);
  }
  return RegexMatch{offsets[0], offsets[1]};
}

std::string regex_literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       static_cast<unsigned char>(c) >= 0x80;
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{{{:x}}}", static_cast<unsigned>(c));
    } else {
      if (!plain) out += '\\';
      out += c;
    }
  }
  return out;
}

}  // namespace longhaul
