#pragma once
// Long texts with hidden sentences: parts of public-domain books (or of the user's essays) and
// lines of noise, cut so that the finished prompt has the requested length.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "eval/random.h"
#include "eval/task.h"

namespace longhaul {

/// "The grass is green. The sky is blue. ...": RULER's and the passkey prompts' noise.
extern const std::string_view kNoiseLine;

/// Approximate bytes per token of English prose, the starting point when searching for a text of
/// some length, and the fewest bytes of text in a prompt.
inline constexpr double kBytesPerToken = 3.6;
inline constexpr int64_t kLeastBytes = 64;

/// Paul Graham's essays in RULER's public form, essays/PaulGrahamEssays.json with the key "text".
/// They have no free licence, so they come only from a user's own --data folder; null without it.
/// UserError for a file of another form or without text.
std::shared_ptr<const std::string> graham_essays(const EvalData& data);
/// Hex xxh3 of that file's text; empty if there is none.
std::string essays_hash(const EvalData& data);

/// A position in the books of data/books from which any amount of text can be read. It continues in
/// the next book at the end of one, and from the first again.
class BookStretch {
 public:
  /// Begins at a sentence. `essays`, unless null, replace the books.
  BookStretch(const EvalData& data, Random& random,
              std::shared_ptr<const std::string> essays = nullptr);
  /// The next `bytes` bytes, cut back to the end of a word.
  std::string text(size_t bytes) const;

 private:
  std::shared_ptr<const std::string> essays_;
  std::vector<const std::string*> books_;
  size_t book_ = 0, offset_ = 0;
};

/// The beginning of the last sentence that begins at or before `at`.
size_t sentence_start(std::string_view text, size_t at);

struct Hidden {
  std::string text;  ///< a sentence or more
  double depth = 0;  ///< 0..1 of the haystack's characters
};

/// Inserts every hidden text at the sentence border before its depth (1: at the end), enclosed by
/// `before` and `after`.
std::string hide(std::string_view haystack, std::vector<Hidden> hidden,
                 std::string_view before = "", std::string_view after = " ");

/// Depth of sample i: ten evenly spaced points from 0 to 1, each once in any ten consecutive
/// samples.
double grid_depth(int sample);

/// Fills `sample` with `fill(sample, units)` (bytes of text, lines, pairs) so that prompt and reply
/// come as close to request.length as units allow, without exceeding it. UserError if not even
/// `least` units fit. `units_per_token` is an estimate.
void fit_to_length(const TaskRequest& request, Sample& sample, double units_per_token,
                   int64_t least, const std::function<void(Sample&, int64_t units)>& fill);

/// Variant for a context of book text.
void fit_book_text(const TaskRequest& request, Sample& sample, const BookStretch& stretch,
                   const std::function<std::string(std::string_view text)>& context);

}  // namespace longhaul
