// Prompts that are texts or token ids.

#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"
#include "serve/api/request.h"

namespace longhaul::serve {

std::vector<int32_t> prompt_of(const ServedModel& model, const Json& value, const std::string& name,
                               bool add_special) {
  const Tokenizer& tokenizer = model.engine->tokenizer();
  std::vector<int32_t> tokens;
  const auto add_text = [&](const Json& text, bool first) {
    const std::vector<int32_t> more =
        tokenizer.encode(text.get_ref<const std::string&>(),
                         {.add_special = add_special && first, .parse_special = true});
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  if (value.is_string()) {
    add_text(value, true);
  } else if (value.is_object() && value.contains("prompt_string")) {  // llama-server's form
    if (!value["prompt_string"].is_string()) refuse_field(name + ".prompt_string", "is no text");
    if (value.contains("multimodal_data")) {
      refuse_field(name + ".multimodal_data", "this model reads text only");
    }
    add_text(value["prompt_string"], true);
  } else if (value.is_array()) {
    const int64_t last = model.engine->model().config.vocab - 1;
    for (size_t i = 0; i < value.size(); ++i) {
      const Json& part = value[i];
      if (part.is_string()) {
        add_text(part, i == 0);
      } else {
        tokens.push_back(
            static_cast<int32_t>(integer_of(part, fmt::format("{}[{}]", name, i), 0, last)));
      }
    }
  } else {
    refuse_field(name, "is neither a text nor a list of token ids");
  }
  if (tokens.empty()) refuse_field(name, "is empty");
  return tokens;
}

}  // namespace longhaul::serve
