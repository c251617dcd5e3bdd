#include "tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace longhaul {

namespace {

using StepKind = NormalizeStep::Kind;

/// Below U+0300 composed and decomposed forms agree for NFC, so most text needs no work.
bool may_need_composition(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0xCC; });
}

std::string unicode_form(const std::string& text, StepKind kind) {
  if (kind == StepKind::nfc && !may_need_composition(text)) return text;
  int options = UTF8PROC_STABLE;
  options |=
      kind == StepKind::nfc || kind == StepKind::nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (kind == StepKind::nfkc || kind == StepKind::nfkd) options |= UTF8PROC_COMPAT;
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

std::string replaced(const std::string& text, const NormalizeStep& step, size_t input,
                     std::string_view where) {
  const std::string &from = step.from, &to = step.to;
  std::string out;
  size_t done = 0;
  for (size_t at; (at = text.find(from, done)) != std::string::npos; done = at + from.size()) {
    check_growth(where, input, out.size() + (at - done) + to.size());
    out.append(text, done, at - done).append(to);
  }
  if (done == 0) return text;
  return out.append(text, done);
}

}  // namespace

void check_growth(std::string_view where, size_t input, size_t grown) {
  constexpr size_t kTimes = 64, kBeside = size_t{1} << 20;
  if (grown <= input * kTimes + kBeside) return;
  user_error(
      "{}: the normalizer makes {} bytes or more of a text of {}; at most 64 times the text and 1 "
      "MiB are supported",
      where, grown, input);
}

std::string Normalizer::apply(std::string text, bool at_start, std::string_view where) const {
  const size_t input = text.size();
  for (const NormalizeStep& step : steps_) {
    switch (step.kind) {
      case StepKind::nfc:
      case StepKind::nfd:
      case StepKind::nfkc:
      case StepKind::nfkd:
        text = unicode_form(text, step.kind);
        break;
      case StepKind::prepend:
      case StepKind::prepend_unless_there: {
        const bool there = step.kind == StepKind::prepend_unless_there &&
                           text.compare(0, step.to.size(), step.to) == 0;
        if (there || (!at_start && step.only_at_start)) break;
        check_growth(where, input, text.size() + step.to.size());
        text.insert(0, step.to);
        break;
      }
      case StepKind::replace:
        if (!step.from.empty()) text = replaced(text, step, input, where);
        break;
    }
    check_growth(where, input, text.size());
  }
  return text;
}

}  // namespace longhaul
