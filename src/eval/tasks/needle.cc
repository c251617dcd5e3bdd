// A question about a sentence in a book: three dialects of the needle in a haystack
// (docs/tasks.md). Public-domain books replace the essays of the first, which have no free licence;
// if the user provides the essays, they are used.

#include <algorithm>

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr std::string_view kSandwich = "eat a sandwich and sit in Dolores Park on a sunny day.";
constexpr std::string_view kSandwichOpening = "The best thing to do in San Francisco is";

std::vector<Sample> make_gkamradt(const TaskRequest& request) {
  const auto essays = graham_essays(*request.data);
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random, essays);
    sample.depth = grid_depth(i);
    sample.system =
        "You are a helpful AI bot that answers questions for a user. Keep your response short and "
        "direct";
    sample.question =
        "What is the best thing to do in San Francisco? Don't give information outside the "
        "document or repeat your findings";
    sample.opening = kSandwichOpening;
    sample.answers = {std::string(kSandwich)};
    sample.rule = "needle-words";
    sample.max_tokens = 50;
    const std::string needle =
        "\n" + std::string(kSandwichOpening) + " " + std::string(kSandwich) + "\n";
    fit_book_text(request, sample, stretch, [&](std::string_view text) {
      return hide(text, {{needle, *sample.depth}}, "", "");
    });
  });
}

std::vector<Sample> make_duo(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random);
    sample.depth = grid_depth(i);
    sample.separator = "";
    sample.question =
        "\n\nQuestion: Based on the content of the book, what is the best thing to do in San "
        "Francisco?";
    sample.opening = "Answer: The best thing to do in San Francisco is";
    sample.before_opening = "\n\n";
    sample.answers = {std::string(kSandwich)};
    sample.rule = "needle-words";
    sample.max_tokens = 51;
    const std::string needle =
        "\n\nRemember, the best thing to do in San Francisco is " + std::string(kSandwich) + "\n\n";
    fit_book_text(request, sample, stretch, [&](std::string_view text) {
      // This dialect splits sentences.
      const auto at = static_cast<size_t>(*sample.depth * static_cast<double>(text.size()));
      return "This is a very long story book: <book> " + std::string(text.substr(0, at)) + needle +
             std::string(text.substr(at)) + " </book>.";
    });
  });
}

/// The question precedes the needle instead of following it (DuoAttention, A.12), so the rows that
/// a method keeps for the last queries do not depend on it.
std::vector<Sample> make_middle(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random);
    sample.depth = grid_depth(i);
    sample.separator = "";
    sample.question = "\n\nAnswer:";
    sample.opening = "The best";
    sample.answers = {std::string(kSandwich)};
    sample.rule = "needle-words";
    sample.max_tokens = 51;
    const std::string needle = "\n\nQ: What is the best thing to do in San Francisco?\nA: " +
                               std::string(kSandwichOpening) + " " + std::string(kSandwich) +
                               "\n\n";
    fit_book_text(request, sample, stretch, [&](std::string_view text) {
      return "This is a very long storybook with a question embedded. Please answer the embedded "
             "question at the end of the book.\n\n" +
             hide(text, {{needle, *sample.depth}}, "", "");
    });
  });
}

std::vector<Sample> make_citrus(const TaskRequest& request) {
  const auto essays = graham_essays(*request.data);
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random, essays);
    sample.depth = grid_depth(i);
    sample.system =
        "You are a helpful AI bot that answers questions for a user. Keep your response short and "
        "direct.";
    sample.question =
        "What is the best thing to do in San Francisco? Don't give information outside the "
        "document or repeat your findings.";
    sample.answers = {std::string(kSandwichOpening) + " " + std::string(kSandwich)};
    sample.rule = "after-7+rouge-1";
    sample.max_tokens = 50;
    fit_book_text(request, sample, stretch, [&](std::string_view text) {
      return hide(text, {{sample.answers.front(), *sample.depth}});
    });
  });
}

constexpr struct {
  std::string_view where, thing;
} kTreasures[] = {
    {"Heron Island", "legendary item"},   {"the Amber Monastery", "sacred relic"},
    {"Cape Wintermoor", "lost artifact"}, {"the Valley of Reeds", "ancient treasure"},
    {"Fort Larkspur", "royal heirloom"},  {"the Salt Caverns", "forgotten weapon"},
};
constexpr std::string_view kQualities[] = {"Crimson", "Silver", "Whispering", "Frozen",
                                           "Emerald", "Hollow", "Burning",    "Midnight"};
constexpr std::string_view kThings[] = {"Lantern", "Chalice", "Compass", "Harp",
                                        "Mirror",  "Sundial", "Anchor",  "Crown"};

std::vector<Sample> make_needlebench(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random);
    const auto& treasure = random.pick(kTreasures);
    const std::string keyword =
        std::string(random.pick(kQualities)) + " " + std::string(random.pick(kThings));
    const std::string where(treasure.where), thing(treasure.thing);
    const std::string needle = "Hidden in " + where + " is the " + thing + ", the " + keyword + ".";
    sample.depth = grid_depth(i);
    sample.separator = "\n\n";
    sample.question = "Now, the question is: What " + thing + " is hidden in " + where +
                      "? Before answering, please consider what in the document is most relevant "
                      "to this question.";
    sample.opening = "Hidden in " + where + " is the " + thing + ", the";
    sample.answers = {needle, keyword};
    sample.rule = "needlebench";
    sample.max_tokens = 50;
    fit_book_text(request, sample, stretch, [&](std::string_view text) {
      return "You are an intelligent AI assistant skilled in answering user questions.\nPlease "
             "keep your answers concise and clear. Do not talk about irrelevant topics or repeat "
             "your answers.\nThe document given to you by the user is " +
             hide(text, {{needle, *sample.depth}});
    });
  });
}

constexpr std::string_view kWords =
    "share of the needle's different words in the reply (DuoAttention's rule, in place of a judge)";

constexpr TaskInfo kNeedleTasks[] = {
    {"needle", "the San Francisco sentence in a book", kWords,
     "gkamradt's prompt; public-domain books, or Graham's essays where --data has them", true,
     make_gkamradt, true},
    {"needle-duo", "the San Francisco sentence, DuoAttention's prompt", kWords,
     "DuoAttention's prompt without another model's control token; public-domain books", true,
     make_duo},
    {"needle-middle", "the San Francisco sentence, asked for in the middle of the book", kWords,
     "DuoAttention's prompt of appendix A.12; public-domain books", true, make_middle},
    {"needle-citrus", "the San Francisco sentence, scored behind the words of the question",
     "ROUGE-1 F of reply and sentence without the first seven words of each (CItruS)",
     "CItruS's prompt; public-domain books, or Graham's essays where --data has them", true,
     make_citrus, true},
    {"needle-bench", "a hidden treasure, a different one in every sample",
     "1 with the keyword in the reply, else 0.2 x edit similarity (NeedleBench)",
     "NeedleBench's prompt and rule; needles of our own, public-domain books", true,
     make_needlebench},
};

}  // namespace

std::span<const TaskInfo> needle_tasks() { return kNeedleTasks; }

}  // namespace longhaul
