// Texts to tokens and back, in the forms of llama-server and of vLLM.

#include "base/error.h"
#include "serve/api/api_error.h"
#include "serve/api/conversation.h"
#include "serve/api/field_reader.h"
#include "serve/api/pages.h"
#include "serve/api/request.h"
#include "text/utf8.h"

namespace longhaul::serve {
namespace {

using http::HttpRequest;

/// A token's text, or its bytes where they are no text.
Json piece_of(const Tokenizer& tokenizer, int32_t id) {
  const std::string_view piece = tokenizer.piece(id);
  std::string storage;
  size_t replaced = 0;
  const std::string_view repaired = repair_utf8(piece, storage, &replaced);
  if (replaced == 0) return std::string(repaired);
  Json bytes = Json::array();
  for (const char c : piece) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

std::vector<std::string_view> with_chat_members(std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> all = conversation_members();
  all.insert(all.end(), own);
  return all;
}

ConversationPrompt prompt_of_body(const ServedModel& model, const Json& body) {
  return conversation_prompt(model, read_conversation(body), false);
}

}  // namespace

Json tokenize_page(const ServedModel& model, const HttpRequest& request) {
  const auto known = with_chat_members({"content", "prompt", "add_special", "parse_special",
                                        "with_pieces", "add_special_tokens", "return_token_strs"});
  const Json body = read_body(request.body, known);
  const FieldReader fields(body);
  const Tokenizer& tokenizer = model.engine->tokenizer();
  const bool special = fields.boolean("add_special").value_or(false);
  const bool parse = fields.boolean("parse_special").value_or(true);
  const bool pieces = fields.boolean("with_pieces").value_or(false);
  Json answer;
  if (fields.has("prompt") || fields.has("messages")) {  // vLLM's form
    const bool adds = fields.boolean("add_special_tokens").value_or(true);
    const std::vector<int32_t> tokens =
        fields.has("messages") ? prompt_of_body(model, body).tokens
                               : tokenizer.encode(fields.text("prompt").value(),
                                                  {.add_special = adds, .parse_special = true});
    answer["count"] = tokens.size();
    answer["max_model_len"] = model.told_context();
    answer["tokens"] = tokens;
    if (fields.boolean("return_token_strs").value_or(false)) {
      answer["token_strs"] = Json::array();
      for (const int32_t id : tokens) answer["token_strs"].push_back(piece_of(tokenizer, id));
    }
    return answer;
  }
  const Json* content = fields.find("content");
  if (content == nullptr) {
    answer["tokens"] = Json::array();
    return answer;
  }
  std::vector<int32_t> tokens;
  if (content->is_string()) {
    tokens = tokenizer.encode(content->get<std::string>(),
                              {.add_special = special, .parse_special = parse});
  } else {
    tokens = prompt_of(model, *content, "content", special);
  }
  if (!pieces) {
    answer["tokens"] = tokens;
    return answer;
  }
  answer["tokens"] = Json::array();
  for (const int32_t id : tokens) {
    answer["tokens"].push_back({{"id", id}, {"piece", piece_of(tokenizer, id)}});
  }
  return answer;
}

Json detokenize_page(const ServedModel& model, const HttpRequest& request) {
  constexpr std::string_view kKnown[] = {"tokens"};
  const Json body = read_body(request.body, kKnown);
  const FieldReader fields(body);
  const Json* tokens = fields.find("tokens");
  if (tokens == nullptr || !tokens->is_array()) refuse_field("tokens", "is no list of token ids");
  const auto last = static_cast<int64_t>(model.engine->tokenizer().vocab_size()) - 1;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < tokens->size(); ++i) {
    ids.push_back(
        static_cast<int32_t>(integer_of((*tokens)[i], fmt::format("tokens[{}]", i), 0, last)));
  }
  const std::string text = model.engine->tokenizer().decode(ids, false);
  return {{"content", text}, {"prompt", text}};
}

Json apply_template_page(const ServedModel& model, const HttpRequest& request) {
  const Json body = read_body(request.body, conversation_members());
  return {{"prompt", prompt_of_body(model, body).text}};
}

Json input_tokens_page(const ServedModel& model, const HttpRequest& request) {
  const Json body = read_body(request.body, conversation_members());
  return {{"object", "chat.completion.input_tokens"},
          {"input_tokens", prompt_of_body(model, body).tokens.size()}};
}

Json tokenizer_info_page(const ServedModel& model, const HttpRequest&) {
  const Tokenizer& tokenizer = model.engine->tokenizer();
  const auto special = [&](const std::optional<int32_t>& id) {
    return id ? Json(std::string(tokenizer.piece(*id))) : Json();
  };
  return {{"tokenizer_class", tokenizer.description()}, {"vocab_size", tokenizer.vocab_size()},
          {"model_max_length", model.told_context()},   {"add_bos_token", tokenizer.adds_bos()},
          {"bos_token", special(tokenizer.bos_id())},   {"eos_token", special(tokenizer.eos_id())}};
}

}  // namespace longhaul::serve
