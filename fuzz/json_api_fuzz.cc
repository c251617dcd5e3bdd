// Bodies of requests in all APIs. The first byte chooses the path, the second one the model's chat
// template. Every body is read as a request, or refused in one line with a status below 500.

#include <array>
#include <fstream>
#include <functional>
#include <string>

#include "attempt.h"
#include "serve/api/api_error.h"
#include "serve/api/ollama.h"
#include "serve/api/pages.h"
#include "serve/api/request.h"

namespace {

using namespace longhaul;
using namespace longhaul::serve;

using Reader = std::function<void(const ServedModel&, const http::HttpRequest&)>;

Reader generation(GenerationRequest (*read)(const ServedModel&, const http::HttpRequest&,
                                            const std::string&)) {
  return [read](const ServedModel& model, const http::HttpRequest& request) {
    const GenerationRequest made = read(model, request, "");
    for (const auto& job : made.jobs) fuzzing::check(!job->prompt.empty());
    fuzzing::check(!made.jobs.empty() || made.ends_at_once != nullptr);
  };
}

Reader page(Json (*make)(const ServedModel&, const http::HttpRequest&)) {
  return [make](const ServedModel& model, const http::HttpRequest& request) {
    text_of(make(model, request));
  };
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      generation(read_chat),
      generation(read_responses),
      generation(read_ollama_chat),
      generation(read_ollama_generate),
      generation(read_completions),
      generation(read_llama_completion),
      generation(read_messages),
      [](const ServedModel& model, const http::HttpRequest& request) {
        text_of(count_tokens_page(model, request, ""));
      },
      page(ollama_show_page),
      page(tokenize_page),
      page(detokenize_page),
      page(apply_template_page),
      page(input_tokens_page),
      [](const ServedModel& model, const http::HttpRequest& request) {
        text_of(responses_input_tokens_page(model, request, ""));
      }};
  return all;
}

/// nano with its own template, or with those of models that call tools in other forms.
const ServedModel& model_with(size_t chat) {
  static const std::array<ServedModel, 4> models = [] {
    const std::string folder = LONGHAUL_SOURCE_DIR;
    const auto engine = Engine::open(folder + "/models/nano");
    std::array<ServedModel, 4> made;
    const std::array<const char*, 4> names = {nullptr, "qwen3", "mistral-nemo", "gpt-oss"};
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].name = "nano";
      made[i].engine = engine;
      made[i].kv_type = "bf16";
      if (names[i] == nullptr) {
        made[i].use_template(engine->chat_template());
        continue;
      }
      std::ifstream in(folder + "/tests/data/tokenizer/chat/" + names[i] + ".jinja");
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      made[i].use_template(ChatTemplate::from_text(text, {"<s>", "</s>", "", ""}, names[i]));
    }
    return made;
  }();
  return models[chat % models.size()];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  http::HttpRequest request;
  request.method = "POST";
  request.body.assign(reinterpret_cast<const char*>(data) + 2, size - 2);
  const ServedModel& model = model_with(data[1]);
  try {
    fuzzing::attempt([&] { readers()[data[0] % readers().size()](model, request); });
  } catch (const ApiError& error) {
    fuzzing::check(error.status >= 400 && error.status < 500);
    fuzzing::check(std::strchr(error.what(), '\n') == nullptr);
    fuzzing::check(Json::accept(error_body(error)));
  }
  return 0;
}
