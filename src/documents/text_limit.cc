#include "documents/text_limit.h"

#include <algorithm>

#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "documents/documents.h"

namespace longhaul {
namespace {

// A text is in memory three times while it is composed, and tokenizing needs ten bytes per byte or
// more if every byte becomes a token: 100 MB of "aaaa" needed 48 bytes per byte in total.
constexpr size_t kMemoryForAByte = 64;
constexpr size_t kLeastBytes = size_t{1} << 20;
constexpr size_t kMostBytes = size_t{2} << 30;  // the tokenizer's own limit
constexpr size_t kLongestToken = 1024;          // bytes
constexpr size_t kBesideContext = size_t{1} << 20;

}  // namespace

TextLimit text_limit(int64_t context, size_t memory) {
  const size_t held = (memory > 0 ? memory : available_memory_bytes()) / kMemoryForAByte;
  TextLimit limit{std::clamp(held, kLeastBytes, kMostBytes),
                  memory > 0 ? "more than can be tokenized in --memory-limit"
                             : "more than can be tokenized in the memory that is free"};
  const auto tokens = static_cast<size_t>(std::max<int64_t>(0, context));
  if (tokens > 0 && tokens < (limit.bytes - kBesideContext) / kLongestToken) {
    limit = {tokens * kLongestToken + kBesideContext,
             fmt::format("more than --ctx {} could hold", context)};
  }
  return limit;
}

void refuse_longer_text(const std::string& name, const TextLimit& limit) {
  throw DocumentError(
      DocumentError::Problem::kTooLong,
      fmt::format("{}: more than {} of text, {}", name, format_bytes(limit.bytes), limit.reason));
}

}  // namespace longhaul
