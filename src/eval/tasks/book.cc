// Prediction of a book by position: each sample is a stretch from another place.

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

std::vector<Sample> make_book(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int) {
    const BookStretch stretch(*request.data, random);
    sample.group = sample.id;
    sample.perplexity = true;
    sample.chat = false;
    sample.max_tokens = 0;
    fit_book_text(request, sample, stretch,
                  [](std::string_view text) { return std::string(text); });
  });
}

constexpr TaskInfo kBookTasks[] = {
    {"book", "predicting a book's next token, by position",
     "mean negative log-likelihood, nats per token; lower is better",
     "public-domain books; one prefill", true, make_book},
};

}  // namespace

std::span<const TaskInfo> book_tasks() { return kBookTasks; }

}  // namespace longhaul
