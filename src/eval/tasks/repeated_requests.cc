// A conversation in which the same request comes four times, in the manner of MRCR (Vodrahalli et
// al. 2024, arXiv:2409.12640; OpenAI 2025): the reply to one of them must be repeated.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/nth.h"
#include "eval/haystack.h"
#include "eval/score_text.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr size_t kReplyWords = 20;
constexpr int kSameRequests = 4;
constexpr int64_t kLeastRequests = 8;
constexpr std::string_view kOrdinals[] = {"first", "second", "third", "fourth"};
constexpr std::string_view kSubjects[] = {"the sea",   "a garden",   "a storm",    "the moon",
                                          "a journey", "a letter",   "a quarrel",  "an old house",
                                          "a dinner",  "a stranger", "the winter", "a horse"};

/// The replies: passages of the book, one after another.
class Passages {
 public:
  Passages(const BookStretch& stretch, int64_t count) {
    constexpr size_t kBytesPerWord = 12;
    words_ =
        split_words(stretch.text(static_cast<size_t>(count + 1) * kReplyWords * kBytesPerWord));
  }
  std::string at(int64_t index) const {
    const auto first = words_.begin() + index * static_cast<int64_t>(kReplyWords);
    return fmt::format("{}", fmt::join(first, first + kReplyWords, " "));
  }

 private:
  std::vector<std::string> words_;
};

/// The subjects of a conversation, and the places of the repeated request in it.
struct Conversation {
  std::string_view asked;
  std::vector<std::string_view> others;  ///< subjects of other requests, by their number
  double places[kSameRequests] = {};     ///< within a quarter each, 0..1

  Conversation(Random& random, int64_t most) {
    asked = random.pick(kSubjects);
    for (double& place : places) place = random.unit();
    while (std::ssize(others) < most) {
      const std::string_view subject = random.pick(kSubjects);
      if (subject != asked) others.push_back(subject);
    }
  }
  std::set<int64_t> numbers(int64_t count) const {
    std::set<int64_t> found;
    for (int i = 0; i < kSameRequests; ++i) {
      const int64_t begin = i * count / kSameRequests, end = (i + 1) * count / kSameRequests;
      found.insert(begin + static_cast<int64_t>(places[i] * static_cast<double>(end - begin)));
    }
    return found;
  }
};

std::vector<Sample> make_repeated(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random);
    constexpr int64_t kLeastTokensOfRequest = 30;
    const int64_t most = std::max(kLeastRequests, request.length / kLeastTokensOfRequest);
    const Passages passages(stretch, most);
    const Conversation conversation(random, most);
    const auto which = static_cast<size_t>(i % kSameRequests);
    sample.question = fmt::format(
        "Repeat word for word the {} passage about {} that the assistant gave, and "
        "nothing else.",
        kOrdinals[which], conversation.asked);
    sample.opening =
        fmt::format("The {} passage about {} is:", kOrdinals[which], conversation.asked);
    sample.rule = "verbatim";
    sample.separator = "\n\n";
    sample.max_tokens = 64;
    fit_to_length(request, sample, 1.0 / 50, kLeastRequests, [&](Sample& filled, int64_t wanted) {
      const int64_t count = std::min(wanted, most);
      const std::set<int64_t> same = conversation.numbers(count);
      filled.context = "This is a conversation.";
      for (int64_t n = 0; n < count; ++n) {
        filled.context += fmt::format(
            "\n\nUser: Give me a passage about {}.\nAssistant: {}",
            same.count(n) > 0 ? conversation.asked : nth(conversation.others, n), passages.at(n));
      }
      filled.answers = {passages.at(*std::next(same.begin(), static_cast<int64_t>(which)))};
    });
  });
}

constexpr TaskInfo kRepeatedTasks[] = {
    {"repeated-requests", "one of four replies to the same request, in a long conversation",
     "share of the reply's 20 words that the longest run of them in the answer covers",
     "in the manner of MRCR, with our own prompt; public-domain books", true, make_repeated},
};

}  // namespace

std::span<const TaskInfo> repeated_request_tasks() { return kRepeatedTasks; }

}  // namespace longhaul
