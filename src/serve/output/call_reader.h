#pragma once
// Readers of the inside of one call, byte by byte.

#include <memory>
#include <string>
#include <string_view>

#include "serve/output/json_scanner.h"
#include "serve/output/reply_format.h"

namespace longhaul::serve {

/// Receives the parts of a call.
class CallSink {
 public:
  virtual ~CallSink() = default;
  virtual void begin(const std::string& name) = 0;
  virtual void id(const std::string& id) = 0;  ///< before begin(), if at all
  virtual void arguments(std::string_view piece) = 0;
};

class CallReader {
 public:
  enum class Result : uint8_t {
    kMore,
    kDone,    ///< the call ends with this byte
    kBroken,  ///< this byte cannot follow; it has not been read
  };
  virtual ~CallReader() = default;
  virtual Result push(char c) = 0;
  /// Whether the reply may end here, because only closing marks are missing.
  virtual bool may_end() const { return false; }
};

/// {"name": NAME, "arguments": {...}} with members in any order, also as {"function": {...}}.
/// `known`: only these functions are calls; null: all.
std::unique_ptr<CallReader> json_call_reader(CallSink& sink, const OfferedTools* known);
/// NAME[ARGS]{...}, NAME[CALL_ID]ID[ARGS]{...} or NAME{...}.
std::unique_ptr<CallReader> named_call_reader(CallSink& sink);
/// NAME><parameter=KEY>VALUE</parameter></function>, after <function=.
std::unique_ptr<CallReader> tagged_call_reader(CallSink& sink, const OfferedTools& tools);
/// One JSON value: the arguments of a call whose name is known.
std::unique_ptr<CallReader> arguments_reader(CallSink& sink);

}  // namespace longhaul::serve
