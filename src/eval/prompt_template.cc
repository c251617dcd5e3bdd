#include "eval/prompt_template.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr std::string_view kContext = "{context}";

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The first and the last `half` bytes, extended outwards to whole characters.
std::string without_middle(std::string_view text, size_t half) {
  size_t front = std::min(half, text.size());
  size_t back = text.size() - front;
  while (front > 0 && front < text.size() && continues_character(text[front])) --front;
  while (back < text.size() && continues_character(text[back])) ++back;
  return std::string(text.substr(0, front)) + std::string(text.substr(back));
}

}  // namespace

std::string fill_in(std::string_view text, std::span<const PromptField> fields) {
  std::string out;
  while (!text.empty()) {
    const size_t open = std::min(text.find('{'), text.size());
    out += text.substr(0, open);
    text.remove_prefix(open);
    const size_t close = text.find('}');
    if (close == std::string_view::npos) break;
    const std::string_view name = text.substr(1, close - 1);
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const PromptField& f) { return f.first == name; });
    if (field == fields.end()) {
      out += text.front();
      text.remove_prefix(1);
    } else {
      out += field->second;
      text.remove_prefix(close + 1);
    }
  }
  return out + std::string(text);
}

void place_prompt(Sample& sample, std::string_view text, std::string_view context,
                  std::span<const PromptField> fields) {
  const size_t at = text.find(kContext);
  if (at == std::string_view::npos) {
    sample.question = fill_in(text, fields);
    return;
  }
  sample.context = fill_in(text.substr(0, at), fields);
  sample.context += context;
  const std::string_view rest = text.substr(at + kContext.size());
  const size_t words = std::min(rest.find_first_not_of(" \n"), rest.size());
  sample.separator = rest.substr(0, words);
  sample.question = fill_in(rest.substr(words), fields);
}

void cut_to_length(const TaskRequest& request, Sample& sample) {
  if (request.length <= 0) return;
  const int64_t limit = request.length - sample.max_tokens;
  const int64_t tokens = request.prompt_tokens(sample);
  if (tokens <= limit) return;
  const std::string whole = sample.context;
  size_t fits = 0;
  size_t too_many = whole.size() / 2 + 1;
  while (too_many - fits > std::max<size_t>(1, fits / 256)) {
    const size_t half = fits + (too_many - fits) / 2;
    sample.context = without_middle(whole, half);
    (request.prompt_tokens(sample) <= limit ? fits : too_many) = half;
  }
  sample.context = without_middle(whole, fits);
  const int64_t left = request.prompt_tokens(sample);
  if (fits == 0 && left > limit) {
    user_error("sample {}: its question and reply alone take more than {} tokens (--lengths)",
               sample.id, request.length);
  }
  sample.cut_tokens = tokens - left;
  sample.cut_to = request.length;
}

}  // namespace longhaul
