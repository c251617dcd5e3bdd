// Replies with tool calls. The first byte chooses the family, the second one where the reply is
// divided.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attempt.h"
#include "serve/output/reply_parser.h"

namespace {

using namespace longhaul::serve;

std::vector<ReplyEvent> parsed(const ReplyFormat& format, std::string_view reply, size_t cut) {
  static const OfferedTools tools(nlohmann::ordered_json::parse(
      R"([{"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "n": {"type": "integer"}}}}])"));
  ReplyParser parser(format, tools);
  std::vector<ReplyEvent> events;
  parser.push(reply.substr(0, cut), events);
  parser.push(reply.substr(cut), events);
  parser.finish(false, events);
  return joined_events(events);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  ReplyFormat format;
  format.family = static_cast<CallFamily>(data[0] % 7);
  format.begins_in_reasoning = data[0] >= 128;
  const std::string_view reply(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = parsed(format, reply, reply.size());
  const auto divided = parsed(format, reply, std::min<size_t>(data[1], reply.size()));
  std::string raw;
  longhaul::fuzzing::check(whole.size() == divided.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    raw += whole[i].raw;
    longhaul::fuzzing::check(whole[i].kind == divided[i].kind && whole[i].text == divided[i].text);
  }
  longhaul::fuzzing::check(raw == reply);
  return 0;
}
