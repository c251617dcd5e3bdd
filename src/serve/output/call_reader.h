#pragma once
// Parses one tool call, byte by byte. ReplyParser recognises the marks around the call.

#include <memory>
#include <string>
#include <string_view>

#include "serve/output/json_scanner.h"
#include "serve/output/reply_format.h"

namespace longhaul::serve {

/// Receives the name, the id and the arguments of a call while it is parsed.
class CallSink {
 public:
  virtual ~CallSink() = default;
  virtual void begin(const std::string& name) = 0;
  virtual void id(const std::string& id) = 0;  ///< called before begin() if the call has an id
  virtual void arguments(std::string_view piece) = 0;
};

class CallReader {
 public:
  enum class Result : uint8_t {
    kMore,
    kDone,    ///< the call ends with this byte
    kBroken,  ///< the byte cannot be a part of the call; push() has not consumed it
  };
  virtual ~CallReader() = default;
  virtual Result push(char c) = 0;
  /// Returns whether the call is complete if the reply ends here, because only closing marks are
  /// missing.
  virtual bool may_end() const { return false; }
};

/// Reads {"name": NAME, "arguments": {...}} or {"function": {...}} with the same members. The
/// members may be in any order. If `known` is not null, calls of other functions are rejected with
/// kBroken.
std::unique_ptr<CallReader> json_call_reader(CallSink& sink, const OfferedTools* known);
/// Reads NAME[ARGS]{...}, NAME[CALL_ID]ID[ARGS]{...} or NAME{...}.
std::unique_ptr<CallReader> named_call_reader(CallSink& sink);
/// Reads NAME><parameter=KEY>VALUE</parameter></function>, which follows <function=.
std::unique_ptr<CallReader> tagged_call_reader(CallSink& sink, const OfferedTools& tools);
/// Reads one JSON value: the arguments of a call whose name is already known.
std::unique_ptr<CallReader> arguments_reader(CallSink& sink);

}  // namespace longhaul::serve
