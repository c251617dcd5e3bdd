#pragma once
// The engine's thread. It decides which requests run, which prompt is computed next, and when
// replies get their next token.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "serve/cache/disk_store.h"
#include "serve/cache/prefix_cache.h"
#include "serve/cache/prompt_history.h"
#include "serve/metrics.h"
#include "serve/scheduler/engine_port.h"
#include "serve/scheduler/job.h"
#include "serve/scheduler/memory_budget.h"
#include "serve/scheduler/running_job.h"
#include "serve/scheduler/session_info.h"
#include "tokenizer/tokenizer.h"

namespace longhaul::serve {

struct SchedulerOptions {
  size_t memory_limit = 0;
  int64_t context = 0;  ///< most tokens of prompt and reply; 0: no limit
  int running = 8;
  int queued = 64;
  double token_interval = 0.020;  ///< seconds between two decode steps beside a prefill
  int64_t short_prompt = 256;     ///< most tokens of a prompt in the short lane
  int64_t open_reply = 1024;      ///< tokens reserved for a reply without a limit
  size_t cache_memory = 0;        ///< most bytes of the prefix cache; 0: half of what weights leave
  bool share_cache = false;       ///< all keys share one prefix cache
  bool exact_cache = false;       ///< resume only where replies are bit-identical to cold ones
  double sleep_after = 0;         ///< idle seconds until memory is freed; 0: never
  int64_t cache_grid = kGridTokens;  ///< distance of snapshots that methods of a grid need
  struct KeyLimits {
    int running = 0, queued = 0;  ///< 0: no limit of its own
  };
  std::map<std::string, KeyLimits> keys;
  std::vector<MethodSpec> offers;  ///< methods that a refusal because of memory may name
};

class Scheduler {
 public:
  Scheduler(EnginePort& engine, const Tokenizer& tokenizer, SchedulerOptions options,
            Metrics& metrics);
  ~Scheduler();

  /// Queues a job; callable from any thread. Refusals come through the job's sink on the engine's
  /// thread, except for a full queue, which is reported to the caller at once.
  std::optional<JobError> submit(std::shared_ptr<Job> job);

  /// The snapshot that a job has pinned under this name may be evicted from now on. If it was saved
  /// under this name, it is removed, with its file and those of everything that continues it.
  void unpin(const std::string& name);
  /// Snapshots that earlier processes have saved for these names, with the bytes of their files.
  /// Set by open_disk().
  const std::map<std::string, size_t>& stored_pins() const { return stored_pins_; }
  /// Called on the engine's thread when a saved snapshot cannot be read. Set it before run().
  std::function<void(const std::string& name)> on_pin_lost;

  /// Runs the engine's thread until stop().
  void run();
  /// Ends run(). Jobs that are not done fail with shutting_down.
  void stop();
  /// Accepts no new jobs; existing ones continue.
  void drain() { draining_ = true; }
  bool idle() const { return jobs_here_ == 0; }

  /// Runs one round. Returns false if there was nothing to do. For simulations and run().
  bool turn();

  /// Seconds of the engine's clock since the last round of the loop; for /health/live.
  double seconds_since_turn() const;

  /// Runs a command on the engine's thread, between two steps. Callable from any thread.
  void post(std::function<void()> command);
  bool stopped() const { return stopping_; }
  /// Keeps snapshots on disk too. Call it before run(). Throws UserError.
  void open_disk(DiskOptions options);

  // Named sessions of an API key, for commands of post(). The latest sequence of a conversation
  // that the client named is its session.
  using SessionDone = std::function<void(const SessionAnswer&)>;
  std::vector<SessionInfo> sessions(const std::string& key);
  bool has_session(const std::string& key, const std::string& name) {
    return session_of(key, name) != nullptr;
  }
  /// Saves session `from` under a name; without `from` the sequence that ended last.
  void save_session(const std::string& key, const std::string& from, const std::string& name,
                    SessionDone done);
  /// Loads a saved session, whose tokens are then in the cache again.
  void restore_session(const std::string& key, const std::string& name, const std::string& as,
                       SessionDone done);
  bool fork_session(const std::string& key, const std::string& name, const std::string& to);
  int64_t erase_session(const std::string& key, const std::string& name);

  struct Slot {
    bool processing = false;
    int64_t tokens = 0, prompt_tokens = 0, reply_tokens = 0;
  };
  std::vector<Slot> slots() const;
  size_t bytes_in_use() const { return in_use_; }
  size_t bytes_reserved() const { return reserved_; }
  int running() const { return running_now_; }
  int waiting() const { return waiting_now_; }

 private:
  using Jobs = std::list<RunningJob>;

  void take_commands();
  void drop_ended();
  void cancel_requested();
  void admit();
  bool may_overtake(Jobs::iterator job);
  bool passes_gates(RunningJob& job);
  bool make_room(size_t bytes);
  bool key_is_busy(const std::string& key) const;
  MemoryBudget budget() const;
  std::optional<JobError> refusal_of(const Job& job, size_t bytes) const;
  void begin(RunningJob& job);
  void make_prefill(RunningJob& job);
  std::string scope_of(const Job& job) const;
  void look_up(RunningJob& job);
  void release_lease(RunningJob& job);
  std::unique_ptr<ServedSequence> start_sequence(RunningJob& job);
  void switch_to_own_method(RunningJob& job);
  int64_t next_cut(RunningJob& job);
  void leg_done(RunningJob& job);
  std::shared_ptr<Snapshot> keep(RunningJob& job, std::unique_ptr<ServedSequence> sequence,
                                 bool whole_prompt);
  void remember(const RunningJob& job, std::vector<int32_t> tokens);
  void keep_abandoned(RunningJob& job);
  void keep_reply(RunningJob& job);
  void report_cache(RunningJob& job);
  using LoadDone = std::function<void(const std::string& error)>;
  void run_posted();
  bool start_load(const std::shared_ptr<Snapshot>& snapshot, LoadDone done);
  void write_snapshot(const std::shared_ptr<Snapshot>& snapshot, const std::string& session,
                      DiskStore::Done done);
  bool write_when_idle();
  void name_session(const RunningJob& job, const std::shared_ptr<Snapshot>& snapshot);
  std::shared_ptr<Snapshot> session_of(const std::string& key, const std::string& name);
  void pin(const std::string& name, std::shared_ptr<Snapshot> snapshot);
  size_t pinned_bytes() const;
  void save_pins();
  void save_pin(const std::string& name);
  void forget_pin(const std::string& name);
  void forget_everything_after(const std::string& file);
  void lose_pins(const std::vector<std::string>& names);
  bool sleep_when_idle();
  bool evict_one();
  void trim_cache();
  size_t most_cached() const;
  RunningJob* pick_long();
  RunningJob* pick_short();
  void advance(RunningJob& job, const std::function<void()>& yield);
  void prefill_done(RunningJob& job);
  void report_prompt(RunningJob& job);
  void add_choice(RunningJob& job, std::unique_ptr<ServedSequence> sequence);
  void between_layers();
  void decode_if_due();
  void count_as_admitted(const std::string& key);
  bool decode();
  void give_piece(RunningJob& job, RunningJob::Choice& choice, ReplyPiece piece);
  bool extend_reservation(RunningJob& job);
  void end_if_done(RunningJob& job);
  void finish(RunningJob& job, bool keeps);
  void fail(RunningJob& job, const JobError& error);
  void cancel(RunningJob& job);
  void tell_sources(RunningJob& job);
  void leave(RunningJob& job);
  void tell_progress(RunningJob& job, bool always);
  void publish();

  EnginePort& engine_;
  Tokenizer tokenizer_;
  SchedulerOptions options_;
  Metrics& metrics_;
  PrefixCache cache_;
  PromptHistory history_;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<Snapshot>> sessions_;
  std::map<std::string, std::weak_ptr<Snapshot>> latest_;  ///< by key: its last sequence
  size_t loading_bytes_ = 0;
  double last_work_ = 0;
  std::map<std::string, std::shared_ptr<Snapshot>> pins_;  ///< by Job::pin, each with a lease
  struct UnsavedPin {
    std::shared_ptr<Snapshot> snapshot;
    std::function<void(const std::string& error)> saved;
  };
  std::map<std::string, UnsavedPin> unsaved_;  ///< by Job::pin: to be written to disk
  std::map<std::string, size_t> stored_pins_;
  Jobs jobs_;  ///< in order of arrival

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> commands_;
  std::deque<std::function<void()>> posted_;
  std::vector<std::string> unpins_;
  std::map<std::string, int> queued_of_key_;
  int queued_ = 0;
  std::atomic<bool> stopping_ = false, draining_ = false;
  std::atomic<int> jobs_here_ = 0, running_now_ = 0, waiting_now_ = 0;
  std::atomic<size_t> in_use_ = 0, reserved_ = 0;
  std::atomic<double> last_turn_ = 0;
  std::vector<Slot> slots_;

  double last_decode_ = -1;
  /// During a long prefill: seconds of other work and of its own; older seconds are halved.
  double side_seconds_ = 0, own_seconds_ = 0, side_ended_ = 0;
  int shorts_in_row_ = 0;
  std::unique_ptr<DiskStore> disk_;  ///< last: its thread uses the engine
};

}  // namespace longhaul::serve
