#include "grammar/token_trie.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_model.h"

namespace longhaul::grammar {

std::shared_ptr<const TokenTrie> TokenTrie::of(const Tokenizer& tokenizer) {
  const Vocabulary& vocabulary = tokenizer.model().vocabulary;
  std::vector<std::string_view> texts(vocabulary.size());
  std::vector<int32_t> ending;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const int32_t id = static_cast<int32_t>(i);
    if (tokenizer.end_of_generation(id)) {
      ending.push_back(id);
      continue;
    }
    const Token& token = vocabulary[id];
    const bool written = token.kind == TokenKind::normal || token.kind == TokenKind::user_defined ||
                         token.kind == TokenKind::byte;
    if (written && !tokenizer.is_special(id)) texts[i] = token.bytes;
  }
  return std::make_shared<const TokenTrie>(texts, std::move(ending));
}

}  // namespace longhaul::grammar
