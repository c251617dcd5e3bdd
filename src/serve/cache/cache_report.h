#pragma once
// Defines the report about how a prompt used the prefix cache. The reply contains this report.

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul::serve {

/// The reason why tokens were prefilled although a similar prompt was prefilled before.
enum class MissReason : uint8_t {
  kNone,      ///< everything that could be reused was reused
  kFirst,     ///< this API key has sent no prompt that begins with the same tokens
  kText,      ///< the text differs from earlier prompts
  kTools,     ///< the definitions of tools differ from earlier prompts
  kMethod,    ///< the attention method cannot resume at the end of the common prefix
  kEvicted,   ///< the snapshot of the earlier prompt has been evicted
  kSettings,  ///< the earlier prompt was prefilled with another attention method or adapter
  kOff,       ///< the request forbids reuse
};
std::string_view name_of(MissReason reason);

struct CacheReport {
  int64_t reused = 0;  ///< number of tokens reused from the cache
  /// Length of the longest prefix of the prompt that was processed before for the same API key.
  int64_t reusable = 0;
  bool exact = true;  ///< whether the reply is bitwise equal to one without a cache
  MissReason reason = MissReason::kNone;
  // The following members describe the first difference from the most similar earlier prompt.
  std::string message;  ///< name of the prompt's part (PromptPart) that contains the difference
  int64_t at = -1;      ///< index of the first token that differs; negative: none
  std::string cached_text, request_text;
};

/// Returns a text for the log. It is empty if the prompt reused everything that it could.
std::string log_line(const CacheReport& report, int64_t prompt_tokens);

}  // namespace longhaul::serve
