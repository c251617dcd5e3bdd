// Reads lines of JSON from standard input and writes verdicts, for tools/compare_grammars.py, which
// compares them with other programs. A line is {"kind", "text", "strings"}, where kind is schema,
// gbnf or regex. The answer has "accepted", a list of 0 and 1, or "error". With the name of a
// tokenizer's folder or file, the answer also has the processor times of compilation and of masks,
// which are written for every token of every accepted string.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/checkpoint.h"
#include "grammar/grammar.h"
#include "tokenizer/load_tokenizer.h"

namespace {

using namespace longhaul;
using namespace longhaul::grammar;

/// Processor time of this thread, which does not depend on the load of the machine.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_since(double begin) { return processor_seconds() - begin; }

GrammarKind kind_of(const std::string& name) {
  if (name == "gbnf") return GrammarKind::kGbnf;
  return name == "regex" ? GrammarKind::kRegex : GrammarKind::kJsonSchema;
}

}  // namespace

int main(int count, char** arguments) {
  std::shared_ptr<const TokenTrie> vocabulary;
  std::optional<Tokenizer> tokenizer;
  if (count > 1) {
    tokenizer.emplace(load_tokenizer(open_checkpoint(arguments[1])));
    vocabulary = TokenTrie::of(*tokenizer);
  } else {
    std::vector<std::string> bytes(257);
    for (size_t i = 0; i < 256; ++i) bytes[i] = std::string(1, static_cast<char>(i));
    const std::vector<std::string_view> views(bytes.begin(), bytes.end());
    vocabulary = std::make_shared<const TokenTrie>(views, std::vector<int32_t>{256});
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto job = nlohmann::json::parse(line);
    nlohmann::json answer;
    try {
      const double begin = processor_seconds();
      const Grammar grammar =
          Grammar::compile(job["text"].get<std::string>(), kind_of(job["kind"]));
      answer["compile"] = seconds_since(begin);
      const GrammarState start(grammar, vocabulary);
      answer["accepted"] = nlohmann::json::array();
      TokenMask mask(vocabulary->mask_words());
      for (const auto& text : job["strings"]) {
        GrammarState state = start;
        bool accepted = true;
        if (tokenizer) {
          for (const int32_t token :
               tokenizer->encode(text.get<std::string>(), {.add_special = false})) {
            const double mask_begin = processor_seconds();
            state.allowed(mask);
            answer["masks"].push_back(seconds_since(mask_begin));
            const size_t id = static_cast<size_t>(token);
            const bool allowed = (mask[id / 64] >> (id % 64) & 1) != 0;
            accepted = state.accept(token);
            if (accepted != allowed) answer["error"] = "the mask and the state differ";
            if (!accepted) break;
          }
        } else {
          accepted = state.accept_bytes(text.get<std::string>());
        }
        answer["accepted"].push_back(accepted && state.may_end() ? 1 : 0);
        answer["memory"] = state.shared_memory_bytes();
      }
    } catch (const UserError& error) {
      answer["error"] = error.what();
    }
    std::puts(answer.dump().c_str());
  }
  return 0;
}
