#pragma once
// What holds for the rows of one list of keys, as data: when rows leave it, how many stay, and what
// a query row sees of it. The driver (attention/driver.h) does the rest by it: passes, cuts,
// segments, forecasts, what session files must hold.

#include <cstdint>
#include <span>
#include <string_view>

namespace longhaul {

inline constexpr int64_t kNoBound = int64_t{1} << 60;  ///< in tokens

/// When rows leave a list. A layer with the model's own sliding window takes part in kEveryPass
/// only.
enum class When : uint8_t {
  kNever,
  kPromptEnd,  ///< once a prompt has been read
  kStride,     ///< every `stride` tokens of a prompt
  kEveryPass,  ///< after each pass and generated token, by whole pages: only sink and recent stay
  kOwn         ///< when the method says so (Method::retain)
};

/// Who chooses the rows that stay.
enum class Chooser : uint8_t {
  kKvHead,
  kQueryHead,  ///< keys are stored once for every query head
  kLayer       ///< all heads of the layer keep the same tokens
};

/// Where keys stand, and how they are stored.
enum class KeyPlace : uint8_t {
  kText,  ///< at their position in the text, at which they are rotated when they are stored
  kList,  ///< at their index in the list: stored raw, rotated when they are read
  kOwn    ///< stored raw, placed by the method's attend()
};

struct Keep {
  When when = When::kNever;
  Chooser chooser = Chooser::kKvHead;
  int64_t budget = kNoBound;  ///< rows of a list after a cut, those of the next two among them
  int64_t sink = 0;           ///< first rows, which never leave
  int64_t recent = 0;         ///< last rows, which stay in a cut
  int64_t stride = 0;         ///< prompt tokens between two cuts (kStride)
  /// Lists are cut to the largest size up to budget + stride from which whole strides end with the
  /// prompt, as EasyKV does (arXiv:2402.06262); generated tokens stay.
  bool whole_strides = false;
  bool every_token = false;  ///< generated tokens are followed by a cut as well
  /// From 0 on: the lists of a layer share their budgets. Each keeps its best rows up to this share
  /// of its own budget, the rest goes to the best rows of the layer.
  double sure_share = -1;
  /// Rows of a list that are in memory at most while prompts are read, where the method sees to
  /// that itself (kOwn, or a slower tier), and how many stretches of neighbouring rows they make.
  int64_t in_memory = kNoBound, stretches = 0;
  /// The same between two steps of the list's layer (kOwn), where the prompt's chunk has at least
  /// `rest_chunk` rows: what enters in a step and leaves again is in one layer at a time.
  int64_t at_rest = kNoBound, rest_chunk = 0;
};

struct See {
  KeyPlace place = KeyPlace::kText;
  int64_t sink = 0;           ///< first rows, seen by all
  int64_t window = kNoBound;  ///< last rows that are seen; all: every row before
  bool strict = false;  ///< it ends with each row; else it lies before the pass, which is seen
  /// The window is of the prompt's rows only: its last `last` rows see everything, and so do
  /// generated tokens.
  bool in_prompts = false;
  int64_t last = 0;
  int tile = 0;              ///< rows of a prompt that choose their keys together, 0: none do
  bool chosen = false;       ///< rows may be shown a choice in which later rows had a say
  int64_t reach = kNoBound;  ///< farthest position that a row is shown, where the method bounds it
  /// The model's frequencies are stretched (stretched_rope): NTK-aware scaling.
  double stretch = 1;
};

struct Plan {
  Keep keep;
  See see;
  /// Query rows at the end of a pass whose attention scores the keys of a cut; kNoBound: all rows
  /// of the text count, and each of them must be read by this method.
  int64_t watch = 0;
  std::span<const std::string_view> columns;  ///< f32 numbers beside each row (KvStore::column)
  bool reads_instruction = false;             ///< no prompt without an instruction
  bool rewinds = false;  ///< rows depend on none after them, until rows left or were chosen from
  /// In a layer, passes that are computed together append their keys before the first of them
  /// attends, and begin with what their rows do alike (Method::begin_layer): the store is longer
  /// than a pass knows of then, which suits keys that the method places itself (KeyPlace::kOwn).
  /// None may discard. It is the same for all lists, however long the context is.
  bool begins_together = false;
  int streams = 1;  ///< KV stores while a prompt is read; 0 is the session's

  bool watches_last_rows() const { return watch > 0 && watch < kNoBound; }
};

}  // namespace longhaul
