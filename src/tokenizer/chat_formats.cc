#include "tokenizer/chat_formats.h"

#include <vector>

namespace longhaul {

namespace {

using System = ChatFormat::System;
using Trim = ChatFormat::Trim;

constexpr std::string_view kLlama31Header =
    "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
    "Today Date: {date}\n\n";

ChatFormat chatml(std::string_view name, std::string_view default_system) {
  ChatFormat f{};
  f.name = name;
  f.system = System::own_turn;
  f.system_before = "<|im_start|>system\n";
  f.system_after = f.user_after = "<|im_end|>\n";
  f.user_before = "<|im_start|>user\n";
  f.generation_prompt = f.reply_before = "<|im_start|>assistant\n";
  f.reply_end = "<|im_end|>";
  f.reply_tail = "\n";
  f.default_system = default_system;
  f.eos = "<|im_end|>";
  return f;
}

/// The system message stands before the turns, bare.
ChatFormat yi() {
  ChatFormat f = chatml("yi-1.5", "");
  f.system_before = f.system_after = "";
  return f;
}

ChatFormat qwen3(std::string_view name, bool thinks) {
  ChatFormat f = chatml(name, "");
  f.drops_thinking = true;
  if (!thinks) f.generation_prompt = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
  return f;
}

ChatFormat llama3(std::string_view name) {
  ChatFormat f{};
  f.name = name;
  f.begin = "{bos}";
  f.system = System::own_turn;
  f.system_before = "<|start_header_id|>system<|end_header_id|>\n\n";
  f.system_after = f.user_after = f.reply_end = "<|eot_id|>";
  f.user_before = "<|start_header_id|>user<|end_header_id|>\n\n";
  f.generation_prompt = f.reply_before = "<|start_header_id|>assistant<|end_header_id|>\n\n";
  f.trim = Trim::all;
  f.bos = "<|begin_of_text|>";
  f.eos = "<|eot_id|>";
  return f;
}

ChatFormat llama31() {
  ChatFormat f = llama3("llama3.1");
  f.system = System::always;
  f.system_before = kLlama31Header;
  return f;
}

ChatFormat instruct(std::string_view name, std::string_view before, std::string_view after,
                    System system) {
  ChatFormat f{};
  f.name = name;
  f.begin = "{bos}";
  f.system = system;
  f.system_after = "\n\n";
  f.user_before = before;
  f.user_after = after;
  f.reply_end = "{eos}";
  f.alternates = true;
  f.bos = "<s>";
  f.eos = "</s>";
  return f;
}

ChatFormat llama2() {
  ChatFormat f = instruct("llama2", "{bos}[INST] ", " [/INST]", System::first_user);
  f.begin = "";
  f.system_before = "<<SYS>>\n";
  f.system_after = "\n<</SYS>>\n\n";
  f.reply_before = f.reply_gap = " ";
  f.trim = Trim::all;
  return f;
}

ChatFormat mistral(std::string_view name, std::string_view before, std::string_view after,
                   System system, std::string_view reply_before, std::string_view reply_tail = "",
                   Trim trim = Trim::none) {
  ChatFormat f = instruct(name, before, after, system);
  f.reply_before = reply_before;
  f.reply_tail = reply_tail;
  f.trim = trim;
  return f;
}

ChatFormat mistral_v7() {
  ChatFormat f = mistral("mistral-v7", "[INST] ", "[/INST]", System::own_turn, " ");
  f.system_before = "[SYSTEM_PROMPT] ";
  f.system_after = "[/SYSTEM_PROMPT]";
  f.alternates = false;
  return f;
}

/// Turns that `<|user|>` and its like begin and `end` ends; `end_of_turn`: that and a line break.
ChatFormat marked(std::string_view name, System system, std::string_view end,
                  std::string_view end_of_turn, std::string_view eos) {
  ChatFormat f{};
  f.name = name;
  f.system = system;
  f.system_before = "<|system|>\n";
  f.system_after = f.user_after = end_of_turn;
  f.user_before = "<|user|>\n";
  f.generation_prompt = f.reply_before = "<|assistant|>\n";
  f.reply_end = end;
  f.reply_tail = "\n";
  f.bos = "<s>";
  f.eos = eos;
  return f;
}

ChatFormat phi3(std::string_view name, System system) {
  return marked(name, system, "<|end|>", "<|end|>\n", "<|endoftext|>");
}

ChatFormat phi3_with_system() {
  ChatFormat f = phi3("phi3", System::own_turn);
  f.finish = "{eos}";
  return f;
}

const std::vector<ChatFormat>& formats() {
  static const std::vector<ChatFormat> list = {
      chatml("chatml", ""),
      chatml("smollm2", "You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
      chatml("qwen2", "You are a helpful assistant."),
      chatml("qwen2.5", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
      yi(),
      qwen3("qwen3", true),
      qwen3("qwen3-no-think", false),
      llama2(),
      llama3("llama3"),
      llama31(),
      mistral("mistral-v0.1", "[INST] ", " [/INST]", System::none, "", " "),
      mistral("mistral-v0.2", "[INST] ", " [/INST]", System::none, ""),
      mistral("mistral-v1", " [INST] ", " [/INST]", System::first_user, " "),
      mistral("mistral-v3", "[INST] ", "[/INST]", System::last_user, " ", "", Trim::replies),
      mistral("mistral-v3-tekken", "[INST]", "[/INST]", System::last_user, ""),
      mistral_v7(),
      phi3_with_system(),
      phi3("phi3-no-system", System::none),
      marked("zephyr", System::own_turn, "{eos}", "{eos}\n", "</s>"),
  };
  return list;
}

}  // namespace

std::span<const ChatFormat> chat_formats() { return formats(); }

const ChatFormat* find_chat_format(std::string_view name) {
  for (const ChatFormat& format : formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace longhaul
