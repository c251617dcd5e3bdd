// The best thing to do in a city, with a different city and thing in every sample: gkamradt's
// needle without the single answer that a model may have memorised.

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr std::string_view kCities[] = {
    "Lisbon", "Oslo",   "Vienna", "Prague", "Dublin", "Cairo",  "Boston",  "Chicago",
    "Paris",  "London", "Rome",   "Madrid", "Berlin", "Athens", "Toronto", "Sydney"};
constexpr std::string_view kFactThings[] = {
    "eat a warm apple pie",         "ride an old red tram",          "watch the boats at dawn",
    "walk along the river wall",    "climb the tall church tower",   "listen to the street organ",
    "drink tea in the rose garden", "feed the birds near the bridge"};
constexpr std::string_view kWhen[] = {"on a sunny day", "in the early morning", "after the rain",
                                      "at midnight",    "in late autumn",       "before sunset",
                                      "on a Sunday",    "with a good friend"};

std::vector<Sample> make_fact(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random);
    const std::string city(random.pick(kCities));
    const std::string thing =
        std::string(random.pick(kFactThings)) + " " + std::string(random.pick(kWhen));
    sample.depth = grid_depth(i);
    sample.question = "What is the best thing to do in " + city + "?";
    sample.opening = "The best thing to do in " + city + " is";
    sample.answers = {thing};
    sample.max_tokens = 40;
    const std::string needle = sample.opening + " " + thing + ".";
    fit_book_text(request, sample, stretch, [&](std::string_view text) {
      return hide(text, {{needle, *sample.depth}});
    });
  });
}

constexpr TaskInfo kFactTasks[] = {
    {"fact", "the best thing to do in some city, in a book", "the whole phrase is in the reply",
     "our own, after gkamradt's needle; public-domain books", true, make_fact},
};

}  // namespace

std::span<const TaskInfo> fact_tasks() { return kFactTasks; }

}  // namespace longhaul
