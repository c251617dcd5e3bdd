#pragma once
// Rules for the rows of one list of keys, as data: when rows are evicted, how many are kept, and
// which rows a query row sees. The driver (attention/driver.h) derives everything else: passes,
// evictions, segments, forecasts, and the contents of session files.

#include <cstdint>
#include <span>
#include <string_view>

namespace longhaul {

inline constexpr int64_t kNoBound = int64_t{1} << 60;  ///< in tokens

/// When rows are evicted from a list. A layer with the model's own sliding window takes part in
/// kEveryPass only.
enum class When : uint8_t {
  kNever,
  kPromptEnd,  ///< after the prefill of each prompt
  kStride,     ///< every `stride` tokens of a prompt
  /// after each pass and generated token, by whole pages: only sink and recent are kept
  kEveryPass,
  kOwn  ///< whenever the method decides (Method::retain)
};

/// The unit that chooses the rows to keep.
enum class Chooser : uint8_t {
  kKvHead,
  kQueryHead,  ///< keys are stored once for every query head
  kLayer       ///< all heads of the layer keep the same tokens
};

/// The positions of keys, and how keys are stored.
enum class KeyPlace : uint8_t {
  kAbsolute,  ///< absolute positions in the context; keys are stored rotated
  kCache,     ///< cache positions (index in the list); keys are stored raw and rotated when read
  kOwn        ///< keys are stored raw; the method's attend() sets positions
};

struct Keep {
  When when = When::kNever;
  Chooser chooser = Chooser::kKvHead;
  int64_t budget = kNoBound;  ///< rows of a list after an eviction, including sink and recent
  int64_t sink = 0;           ///< first rows, never evicted
  int64_t recent = 0;         ///< last rows, kept by each eviction
  int64_t stride = 0;         ///< prompt tokens between two evictions (kStride)
  /// Lists are evicted down to the largest size up to budget + stride for which whole strides end
  /// with the prompt, as in EasyKV (arXiv:2402.06262). Generated tokens are kept.
  bool whole_strides = false;
  bool every_token = false;  ///< each generated token is also followed by an eviction
  /// If at least 0, the lists of a layer share their budgets. Each list keeps its best rows up to
  /// this fraction of its own budget; the rest goes to the best rows of the layer.
  double sure_share = -1;
  /// Upper bound of the rows of a list in memory during prefill, for methods that ensure it
  /// themselves (kOwn, or offloading), and the number of contiguous ranges that these rows form.
  int64_t in_memory = kNoBound, stretches = 0;
  /// Upper bound between two steps of the list's layer (kOwn), for chunks of at least `rest_chunk`
  /// rows. Within a step in_memory holds, but only one layer runs a step at a time.
  int64_t at_rest = kNoBound, rest_chunk = 0;
};

struct See {
  KeyPlace place = KeyPlace::kAbsolute;
  int64_t sink = 0;           ///< first rows, visible to all
  int64_t window = kNoBound;  ///< visible last rows; kNoBound: all earlier rows
  /// the window ends at each row; otherwise it precedes the pass, which is visible as a whole
  bool strict = false;
  /// The window applies to prompt rows only. The prompt's last `last` rows and generated tokens see
  /// everything.
  bool in_prompts = false;
  int64_t last = 0;
  int tile = 0;              ///< prompt rows that select their keys together; 0: no selection
  bool chosen = false;       ///< the selection for a row may depend on later rows
  int64_t reach = kNoBound;  ///< largest position that a row sees, if the method bounds it
  /// Factor by which the model's frequencies are stretched (stretched_rope): NTK-aware scaling.
  double stretch = 1;
};

struct Plan {
  Keep keep;
  See see;
  /// Observation window: number of query rows at the end of a pass whose attention scores the keys
  /// before an eviction. kNoBound: all rows of the text count, and this method must read each of
  /// them.
  int64_t observation_window = 0;
  std::span<const std::string_view> columns;  ///< f32 values stored with each row (KvStore::column)
  bool reads_instruction = false;             ///< prompts without an instruction are refused
  /// a prefix can be reused after truncation, until rows were evicted or selected
  bool rewinds = false;
  /// Passes of a batch append their keys in a layer before the first of them attends, and their
  /// shared work runs first (Method::begin_layer). The store is then longer than a single pass
  /// expects, which suits keys that the method places itself (KeyPlace::kOwn). No pass may discard.
  /// The value is the same for all lists and context lengths.
  bool begins_together = false;
  int streams = 1;  ///< KV stores during prefill; store 0 is the session's

  bool observes_last_rows() const {
    return observation_window > 0 && observation_window < kNoBound;
  }
};

}  // namespace longhaul
