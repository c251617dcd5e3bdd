#include "tokenizer/turn_marks.h"

#include <algorithm>
#include <iterator>

namespace longhaul {

namespace {

constexpr std::string_view kEnd = "<|end|>";     // Phi-3, gpt-oss, Solar Open
constexpr std::string_view kStruckOut = "</s>";  // Llama 2, Mistral
constexpr std::string_view kGlmTurns[] = {"<|user|>", "<|observation|>"};

constexpr std::string_view kTurnEnds[] = {
    kEnd,
    kStruckOut,
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",  // Llama 4
    "<|eom|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",  // Kimi K2
    "[EOS]",
    "<eos>",  // Gemma
    "<end_of_turn>",
    "<turn|>",  // Gemma 4
    "<|tool_response>",
    "<|return|>",  // gpt-oss
    "<|call|>",
    "<|calls|>",  // Solar Open
    "<|flush|>",
    "<end_of_utterance>",  // SmolVLM
    "[e~[",                // MiniMax
    "[|endofturn|]",       // EXAONE
    "<|END_OF_TURN_TOKEN|>",
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",  // DeepSeek
};

constexpr std::string_view kTurnBegins[] = {
    "<|im_start|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|begin_of_text|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "<start_of_turn>",
    "<|start|>",
    "<|turn>",
    "]~b]",
    "<|header_start|>",
    "<|header_end|>",
    "<|START_OF_TURN_TOKEN|>",
    "[gMASK]",
    "<|observation|>",
};

template <class List>
bool among(const List& texts, std::string_view text) {
  return std::find(std::begin(texts), std::end(texts), text) != std::end(texts);
}

}  // namespace

TurnMarks::TurnMarks(const std::function<bool(std::string_view)>& has_token) {
  const bool calls = has_token("<|call|>") || has_token("<|calls|>");
  const bool answers = has_token("<|return|>") && (calls || has_token("<|channel|>"));
  channels_ = answers || (calls && has_token("<|flush|>"));
  struck_out_ = has_token("<|tool_response>");
  glm_ = has_token("[gMASK]") && has_token("<|observation|>");
}

bool TurnMarks::never_ends_reply(std::string_view text) const {
  return (channels_ && text == kEnd) || (struck_out_ && text == kStruckOut);
}

bool TurnMarks::ends_reply(std::string_view text) const {
  if (never_ends_reply(text)) return false;
  return among(kTurnEnds, text) || (glm_ && among(kGlmTurns, text));
}

bool TurnMarks::ends_message(std::string_view text) const {
  return ends_reply(text) || text == kEnd;
}

bool TurnMarks::is_mark(std::string_view text) const {
  return ends_message(text) || among(kTurnBegins, text);
}

}  // namespace longhaul
