#include "calibrate/triangle_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/prompt_tokens.h"
#include "eval/random.h"

namespace longhaul {
namespace {

struct DataLine {
  std::string key, value;
};

std::string prompt_of(const std::vector<DataLine>& lines, const std::string& key) {
  std::string text =
      "Extract the value corresponding to the specified key in the data below.\n\nData:\n";
  for (const DataLine& line : lines) text += fmt::format("{}: {}\n", line.key, line.value);
  return text + fmt::format(
                    "\nExtract the value corresponding to this key:\nkey: {}\n\nPlease directly "
                    "output the corresponding value without outputting anything else.\nvalue:",
                    key);
}

std::vector<int32_t> tokens_of(const TrianglePromptRequest& request,
                               const std::vector<DataLine>& lines, const std::string& key,
                               const std::string& reply) {
  const std::string text = prompt_of(lines, key);
  if (!request.chat)
    return prompt_tokens(*request.tokenizer, bare_prompt(text + reply, false), "").tokens;
  const ChatMessage message{ChatRole::user, text};
  return prompt_tokens(*request.tokenizer,
                       chat_prompt(*request.chat, std::span(&message, 1), reply), "")
      .tokens;
}

}  // namespace

TrianglePrompt triangle_prompt(const TrianglePromptRequest& request, int index) {
  Random random("triangle-probe", request.seed, request.tokens, index);
  std::vector<DataLine> lines;
  const auto add = [&](int64_t count) {
    while (static_cast<int64_t>(lines.size()) < count) {
      DataLine line{random.uuid(), random.uuid()};
      lines.push_back(std::move(line));
    }
  };
  add(4);
  const auto count = [&](std::span<const DataLine> some) {
    return tokens_of(request, {some.begin(), some.end()}, lines[0].key, "").size();
  };
  const double fixed = static_cast<double>(count({})), four = static_cast<double>(count(lines));
  const double each = (four - fixed) / 4;
  const auto fit = static_cast<int64_t>((static_cast<double>(request.tokens) - fixed) / each);
  if (fit < 2) {
    user_error("--tokens {}: a prompt with two lines takes {} tokens", request.tokens,
               std::lround(fixed + 2 * each));
  }
  lines.resize(std::min<size_t>(lines.size(), static_cast<size_t>(fit)));
  add(fit);
  const DataLine asked = random.pick(lines);
  TrianglePrompt prompt;
  prompt.tokens = tokens_of(request, lines, asked.key, "");
  const std::vector<int32_t> whole = tokens_of(request, lines, asked.key, " " + asked.value);
  size_t at = static_cast<size_t>(std::ranges::mismatch(prompt.tokens, whole).in2 - whole.begin());
  // A blank that is a token of its own carries no information.
  if (at + 1 < whole.size() && request.tokenizer->piece(whole[at]) == " ") ++at;
  LH_ASSERT(at < whole.size());
  prompt.wanted = whole[at];
  prompt.tokens.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(at));
  return prompt;
}

}  // namespace longhaul
