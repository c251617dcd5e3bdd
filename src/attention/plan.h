#pragma once
// The rules of an attention method, as data. MethodPlan holds what is the same in all lists of
// keys, ListPlan what may differ between KV heads. The driver (attention/driver.h) derives
// everything else: passes, evictions, segments, forecasts, and the contents of session files.

#include <cstdint>
#include <span>
#include <string_view>

namespace longhaul {

inline constexpr int64_t kNoBound = int64_t{1} << 60;  ///< in tokens

/// When rows are evicted from lists. A layer with the model's own sliding window takes part in
/// kEveryPass and kOwn only.
enum class When : uint8_t {
  kNever,
  kPromptEnd,  ///< after the prefill of each prompt
  kStride,     ///< every `stride` tokens of a prompt
  /// after each pass and generated token, by whole pages: only sink and recent are kept
  kEveryPass,
  kOwn  ///< Method::choose() is called after each pass and decides
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

/// The method as a whole, for all layers, heads and context lengths.
struct MethodPlan {
  KeyPlace place = KeyPlace::kAbsolute;
  When when = When::kNever;
  Chooser chooser = Chooser::kKvHead;
  /// Method::choose() drops rows from the store by a rule of its own. Lists may then differ in
  /// length. Otherwise it writes scores, and each list keeps the best rows of its budget.
  bool own_rule = false;
  int64_t stride = 0;  ///< prompt tokens between two evictions (kStride)
  /// Lists are evicted down to the largest size up to budget + stride for which whole strides end
  /// with the prompt, as in EasyKV (arXiv:2402.06262). Generated tokens are kept.
  bool whole_strides = false;
  bool every_token = false;  ///< each generated token is also followed by an eviction
  /// Observation window: number of query rows at the end of a pass whose attention scores the keys
  /// before an eviction. kNoBound: all rows of the text count, and this method must read each of
  /// them.
  int64_t observation_window = 0;
  std::span<const std::string_view> columns;  ///< f32 values stored with each row (KvStore::column)
  /// a prefix can be reused after truncation, until rows were evicted or selected
  bool rewinds = false;
  bool reads_instruction = false;  ///< prompts without an instruction are refused
  /// Passes of a batch append their keys in a layer before the first of them attends, and their
  /// shared work runs in attend() of the first pass (LayerStep::all). The store is then longer than
  /// a single pass expects, which suits keys that the method places itself (KeyPlace::kOwn). No
  /// pass may discard. observe() is called after every attend().
  bool begins_together = false;
  int streams = 1;  ///< KV stores during prefill; store 0 is the session's

  bool observes_last_rows() const {
    return observation_window > 0 && observation_window < kNoBound;
  }
};

/// Rows that are evicted from one list.
struct Keep {
  bool all = false;           ///< no row leaves this list
  int64_t budget = kNoBound;  ///< rows of a list after an eviction, including sink and recent
  int64_t sink = 0;           ///< first rows, never evicted
  int64_t recent = 0;         ///< last rows, kept by each eviction
  /// Upper bound of the rows of a list in memory during prefill, for methods that ensure it
  /// themselves (kOwn, or offloading).
  int64_t in_memory = kNoBound;
  /// Upper bound between two steps of the list's layer (kOwn), for chunks of at least `rest_chunk`
  /// rows. Within a step in_memory holds, but only one layer runs a step at a time.
  int64_t at_rest = kNoBound, rest_chunk = 0;
};

/// Rows that a query row sees.
struct See {
  int64_t sink = 0;           ///< first rows, visible to all
  int64_t window = kNoBound;  ///< visible last rows; kNoBound: all earlier rows
  /// the window ends at each row; otherwise it precedes the pass, which is visible as a whole
  bool strict = false;
  /// If at least 0, the window applies to prompt rows only. This number of rows at the prompt's end
  /// and generated tokens see everything.
  int64_t dense_rows = -1;
  int tile = 0;              ///< prompt rows that select their keys together; 0: no selection
  bool chosen = false;       ///< the selection for a row may depend on later rows
  int64_t reach = kNoBound;  ///< largest position that a row sees, if the method bounds it
  /// Factor by which the model's frequencies are stretched (stretched_rope): NTK-aware scaling.
  double stretch = 1;
};

/// One KV head's list, in a context of some length.
struct ListPlan {
  Keep keep;
  See see;
};

}  // namespace longhaul
