// The files of a Hugging Face folder beside its weights: tokenizer_config.json,
// generation_config.json, config.json, special_tokens_map.json, then either tokenizer.model alone
// or vocab.json and merges.txt.

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "format/checkpoint.h"
#include "input_file.h"
#include "input_parts.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/load_tokenizer.h"

namespace {

using namespace longhaul;

template <class Action>
void attempt(Action&& action) {
  try {
    action();
  } catch (const UserError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
}

void put(const char* name, std::string_view text) {
  if (text.empty()) {
    std::filesystem::remove(fuzzing::folder() / name);
  } else {
    fuzzing::write_file(name, reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto texts = fuzzing::parts(data, size, 6);
  put("tokenizer_config.json", texts[0]);
  put("generation_config.json", texts[1]);
  put("config.json", texts[2]);
  put("special_tokens_map.json", texts[3]);
  const bool tekken = texts[4].starts_with('{');
  put("tokenizer.model", texts[5].empty() && !tekken ? texts[4] : "");
  put("tekken.json", texts[5].empty() && tekken ? texts[4] : "");
  put("vocab.json", texts[5].empty() ? "" : texts[4]);
  put("merges.txt", texts[5]);
  attempt([] {
    const Tokenizer tokenizer = load_tokenizer_folder(fuzzing::folder());
    const auto ids = tokenizer.encode("Hello <e> \u00fc\u4e2d 12", {true, true});
    tokenizer.decode(ids, false);
    tokenizer.spans(ids);
    for (int32_t id = 0; id < 300; ++id) tokenizer.end_of_generation(id);
  });
  fuzzing::write_file("model.safetensors", reinterpret_cast<const uint8_t*>("\2\0\0\0\0\0\0\0{}"),
                      10);
  attempt([] {
    const ChatTemplate chat = ChatTemplate::of(open_checkpoint(fuzzing::folder()));
    const std::vector<ChatMessage> messages = {{ChatRole::user, "Hello"}};
    chat.render(messages, true);
  });
  return 0;
}
