// Bytes from a client: the parser, the check of Host and Origin, and the router.

#include <cstddef>
#include <cstdint>
#include <string>

#include "http/origin_check.h"
#include "http/request_parser.h"
#include "http/router.h"

using namespace longhaul::http;

namespace {

/// Feeds the bytes as a connection does. Its first byte says in what pieces they come.
std::string requests_of(std::string_view bytes, size_t step) {
  static const Limits limits;
  static const OriginCheck origins({"box.example"}, {"https://chat.example"});
  std::string seen, input;
  RequestParser parser(limits);
  for (size_t at = 0; at < bytes.size(); at += step) {
    input += bytes.substr(at, step);
    for (bool again = true; again;) {
      const size_t used = parser.put(input);
      if (used > input.size()) __builtin_trap();
      input.erase(0, used);
      again = used > 0 && !input.empty();
      if (parser.state() == RequestParser::State::kHeaderRead) {
        if (origins.refusal(parser.header())) seen += "refused ";
        parser.read_body();
        again = true;
      }
    }
    if (parser.state() == RequestParser::State::kFailed) {
      return seen + std::to_string(parser.refusal().status);
    }
    if (parser.state() == RequestParser::State::kDone) {
      const HttpRequest request = parser.take();
      if (request.body.size() > limits.body_bytes) __builtin_trap();
      return seen + request.method + request.path + request.body;
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = requests_of(bytes, size + 1);
  // The pieces do not matter.
  if (size < 4096 && requests_of(bytes, 7) != whole) __builtin_trap();
  return 0;
}
