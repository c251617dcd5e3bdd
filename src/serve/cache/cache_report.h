#pragma once
// The report about how a reply used the prefix cache. It is a part of the reply.

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul::serve {

/// The reason why tokens were prefilled although a similar prompt was prefilled before.
enum class MissReason : uint8_t {
  kNone,      ///< everything that could be reused was reused
  kFirst,     ///< this API key has not sent such a prompt before
  kText,      ///< the text differs from earlier prompts
  kTools,     ///< the definitions of tools differ from earlier prompts
  kMethod,    ///< the method cannot resume at a later position
  kEvicted,   ///< the snapshot has been evicted
  kSettings,  ///< the earlier prompt was prefilled with another attention method or adapter
  kOff,       ///< the request forbids reuse
};
std::string_view name_of(MissReason reason);

struct CacheReport {
  int64_t reused = 0;    ///< number of tokens reused from the cache
  int64_t reusable = 0;  ///< number of first tokens that were prefilled before for the same API key
  bool exact = true;     ///< whether the reply is bitwise equal to one without a cache
  MissReason reason = MissReason::kNone;
  // The first difference from earlier prompts.
  std::string message;  ///< name of the part of the prompt in which the first difference is
  int64_t at = -1;      ///< index of the first token that differs; negative: none
  std::string cached_text, request_text;
};

/// Returns the line for the log. It is empty if there is nothing unusual.
std::string log_line(const CacheReport& report, int64_t prompt_tokens);

}  // namespace longhaul::serve
