#include "tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace longhaul {

namespace {

using Kind = NormalizeStep::Kind;

/// Below U+0300 composed and decomposed forms agree for NFC, so most text needs no work.
bool may_need_composition(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0xCC; });
}

std::string unicode_form(const std::string& text, Kind kind) {
  if (kind == Kind::nfc && !may_need_composition(text)) return text;
  int options = UTF8PROC_STABLE;
  options |= kind == Kind::nfc || kind == Kind::nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (kind == Kind::nfkc || kind == Kind::nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t bytes = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &out, static_cast<utf8proc_option_t>(options));
  if (bytes < 0) {
    user_error("cannot normalize {} bytes of text: {}", text.size(), utf8proc_errmsg(bytes));
  }
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(out, std::free);
  return {reinterpret_cast<const char*>(out), static_cast<size_t>(bytes)};
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  size_t done = 0;
  for (size_t at; (at = text.find(from, done)) != std::string::npos; done = at + from.size()) {
    out.append(text, done, at - done).append(to);
  }
  if (done == 0) return text;
  return out.append(text, done);
}

}  // namespace

std::string Normalizer::apply(std::string text, bool at_start) const {
  for (const NormalizeStep& step : steps_) {
    switch (step.kind) {
      case Kind::nfc:
      case Kind::nfd:
      case Kind::nfkc:
      case Kind::nfkd:
        text = unicode_form(text, step.kind);
        break;
      case Kind::prepend:
      case Kind::prepend_unless_there: {
        const bool there = step.kind == Kind::prepend_unless_there &&
                           text.compare(0, step.to.size(), step.to) == 0;
        if (!there && (at_start || !step.only_at_start)) text.insert(0, step.to);
        break;
      }
      case Kind::replace:
        if (!step.from.empty()) text = replaced(text, step.from, step.to);
        break;
    }
  }
  return text;
}

}  // namespace longhaul
