#include "engine/loaded_text.h"

#include "base/error.h"

namespace longhaul {
namespace {

constexpr std::string_view kPlace = "LONGHAUL-TEXT-STANDS-HERE";

/// The text that the chat template writes before and after the user's first message.
struct Frame {
  std::string head, tail;
};

Frame frame_of(const PromptParts& parts, const Engine& engine) {
  std::vector<ChatMessage> messages;
  if (!parts.system.empty()) messages.push_back({ChatRole::system, parts.system});
  messages.push_back({ChatRole::user, std::string(kPlace)});
  const std::string all = chat_prompt(parts.template_of(engine), messages).text();
  const size_t at = all.find(kPlace);
  if (at == std::string::npos) {
    user_error("--load: the chat template does not write the user's message as it is");
  }
  return {all.substr(0, at), all.substr(at + kPlace.size())};
}

}  // namespace

LoadedText text_of_loaded(const Sequence& session, const PromptParts& parts,
                          const std::string& file) {
  const Engine& engine = session.engine();
  const std::string held = engine.tokenizer().decode(session.tokens(), false);
  const Frame frame = frame_of(parts, engine);
  if (!held.starts_with(frame.head)) {
    user_error(
        "--load {}: was saved with another template or --system; give those, or the texts with -f",
        file);
  }
  std::string message = held.substr(frame.head.size());
  const size_t end = frame.tail.empty() ? std::string::npos : message.find(frame.tail);
  LoadedText loaded;
  if (end != std::string::npos) {
    message.resize(end);
    const size_t blank_line = message.rfind("\n\n");
    const size_t question = blank_line == std::string::npos ? 0 : blank_line + 2;
    loaded.left_out = message.substr(question);
    message.resize(question);
  }
  // Newlines at the end do not belong to the text, but blanks do, as in joined documents
  // (documents/documents.h).
  while (message.ends_with('\n') || message.ends_with('\r')) message.pop_back();
  loaded.text = std::move(message);
  return loaded;
}

}  // namespace longhaul
