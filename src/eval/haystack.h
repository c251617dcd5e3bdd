#pragma once
// Makes long texts (haystacks) with hidden sentences (needles). The text consists of public-domain
// books, of the user's essays, or of lines of noise. The length of the text is chosen so that the
// finished prompt has the requested length.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "eval/random.h"
#include "eval/task.h"

namespace longhaul {

/// The line that is repeated as noise in RULER and in passkey prompts: "The grass is green. The sky
/// is blue. ...".
extern const std::string_view kNoiseLine;

/// Approximate bytes per token of English prose. fit_book_text() begins its search for the right
/// length with this estimate.
inline constexpr double kBytesPerToken = 3.6;
/// The smallest number of bytes of book text in a prompt.
inline constexpr int64_t kLeastBytes = 64;

/// Returns the text of Paul Graham's essays from essays/PaulGrahamEssays.json. The format of the
/// file is RULER's: an object with the key "text". The essays have no free licence, so they are
/// read only from the user's --data folder. Returns null if the file does not exist. Throws
/// UserError if the file has another format or no text.
std::shared_ptr<const std::string> graham_essays(const EvalData& data);
/// Returns the XXH3 hash of the essays' text in hexadecimal, or an empty string if there are no
/// essays.
std::string essays_hash(const EvalData& data);

/// A position in the books of data/books, from which any amount of text can be read. At the end of
/// a book, reading continues with the next book, and after the last book with the first.
class BookStretch {
 public:
  /// Chooses a random position at the start of a sentence. If `essays` is not null, the essays are
  /// used and not the books.
  BookStretch(const EvalData& data, Random& random,
              std::shared_ptr<const std::string> essays = nullptr);
  /// Returns the next `bytes` bytes, shortened to the end of a word.
  std::string text(size_t bytes) const;

 private:
  std::shared_ptr<const std::string> essays_;
  std::vector<const std::string*> books_;
  size_t book_ = 0, offset_ = 0;
};

/// Returns the start of the last sentence that begins at or before `at`.
size_t sentence_start(std::string_view text, size_t at);

/// A text to hide.
struct Hidden {
  std::string text;  ///< a sentence or more
  double depth = 0;  ///< position in the haystack, from 0 (beginning) to 1 (end)
};

/// Inserts every text of `hidden` into the haystack, with `before` in front of it and `after`
/// behind it. Depth d is the position d * haystack.size(). A text is inserted at the last start of
/// a sentence before this position, or at the end if its depth is 1.
std::string hide(std::string_view haystack, std::vector<Hidden> hidden,
                 std::string_view before = "", std::string_view after = " ");

/// Returns the depth at which sample number `sample` hides its text. It is one of ten evenly spaced
/// numbers from 0 to 1. Ten consecutive samples have ten different depths.
double grid_depth(int sample);

/// Finds out how much text a sample must contain, so that prompt and reply have nearly
/// request.length tokens and not more. fill(sample, units) must set the sample's text to `units`
/// units, such as bytes, lines or key-value pairs. fill() is called with several numbers of units,
/// and last with the number that is used. `units_per_token` is an estimate. Throws UserError if
/// even `least` units do not fit.
void fit_to_length(const TaskRequest& request, Sample& sample, double units_per_token,
                   int64_t least, const std::function<void(Sample&, int64_t units)>& fill);

/// Does the same with book text: sets the sample's context to `context(text)`, where `text` comes
/// from `stretch`.
void fit_book_text(const TaskRequest& request, Sample& sample, const BookStretch& stretch,
                   const std::function<std::string(std::string_view text)>& context);

}  // namespace longhaul
