#pragma once
// The report of a reply about the prefix cache.

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul::serve {

/// The reason for which tokens were prefilled again.
enum class MissReason : uint8_t {
  kNone,      ///< everything that could be reused was reused
  kFirst,     ///< the key has not sent such a prompt before
  kText,      ///< the prompts diverge
  kTools,     ///< they diverge in the definitions of tools
  kMethod,    ///< the method has no nearer checkpoint
  kEvicted,   ///< the snapshot was evicted
  kSettings,  ///< the earlier prompt was read with another method
  kOff,       ///< the request forbids reuse
};
std::string_view name_of(MissReason reason);

struct CacheReport {
  int64_t reused = 0;    ///< tokens from the cache
  int64_t reusable = 0;  ///< first tokens that the same key has had prefilled before
  bool exact = true;     ///< whether the reply is bit-identical to a cold one
  MissReason reason = MissReason::kNone;
  // The place where the prompts diverge.
  std::string message;  ///< name of the part of the prompt
  int64_t at = -1;      ///< token; negative: they do not diverge
  std::string cached_text, request_text;
};

/// The line of the log; empty if nothing needs attention.
std::string log_line(const CacheReport& report, int64_t prompt_tokens);

}  // namespace longhaul::serve
