#pragma once
// The scheduler decides which jobs run, which prompt is computed next, and when replies get their
// next token. A job is one prompt with its replies. The scheduler runs on one thread, the engine's
// thread.

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
#include "serve/cache/host_tier.h"
#include "serve/cache/prefix_cache.h"
#include "serve/cache/prompt_history.h"
#include "serve/metrics.h"
#include "serve/scheduler/decode_pause.h"
#include "serve/scheduler/engine_port.h"
#include "serve/scheduler/job.h"
#include "serve/scheduler/mask_threads.h"
#include "serve/scheduler/memory_budget.h"
#include "serve/scheduler/running_job.h"
#include "serve/scheduler/session_info.h"
#include "tokenizer/tokenizer.h"

namespace longhaul::serve {

struct SchedulerOptions {
  size_t memory_limit = 0;
  int64_t context = 0;  ///< largest number of tokens of prompt and reply; 0: no limit
  int running = 8;
  int queued = 64;
  DecodePause pause;  ///< between two decode steps while a prefill is running
  /// Prompts of at most this many tokens are prefilled between the layers of longer ones.
  int64_t short_prompt = 256;
  /// Number of tokens for which memory is reserved if a reply has no limit.
  int64_t open_reply = 1024;
  /// Largest size of the prefix cache in bytes. 0: half of the part of memory_limit that
  /// EnginePort::fixed_bytes() does not use.
  size_t cache_memory = 0;
  bool share_cache = false;  ///< whether all API keys share one prefix cache
  bool exact_cache = false;  ///< whether only bitwise exact resume points are used
  double sleep_after = 0;    ///< idle seconds after which memory is freed; 0: never
  /// Number of tokens between two snapshots for attention methods that can resume only where one of
  /// their own prefills ended (ResumeGroup::kGrid).
  int64_t cache_grid = kGridTokens;
  struct KeyLimits {
    int running = 0, queued = 0;  ///< limits per API key; 0: no limit
  };
  std::map<std::string, KeyLimits> keys;
  std::vector<MethodSpec> offers;  ///< methods that an error about insufficient memory may suggest
};

class Scheduler {
 public:
  Scheduler(EnginePort& engine, const Tokenizer& tokenizer, SchedulerOptions options,
            Metrics& metrics);
  ~Scheduler();

  /// Queues a job. It may be called on any thread. If the queue is full, returns an error and does
  /// not queue the job. Other rejections are reported to the job's sink on the engine's thread.
  std::optional<JobError> submit(std::shared_ptr<Job> job);

  /// Removes the pin `name` (Job::pin), so that its snapshot can be evicted. If the snapshot was
  /// saved to disk for this pin (Job::saved), its file and the files of all snapshots that continue
  /// it are removed.
  void unpin(const std::string& name);
  /// Returns the pins whose snapshots earlier processes have saved, with the size of each file in
  /// bytes. open_disk() sets them.
  const std::map<std::string, size_t>& stored_pins() const { return stored_pins_; }
  /// Called on the engine's thread with the name of a pin whose saved snapshot cannot be loaded. It
  /// must be set before run().
  std::function<void(const std::string& name)> on_pin_lost;

  /// Runs the scheduler on the calling thread until stop().
  void run();
  /// Makes run() return. Jobs that have not ended fail with the error shutting_down.
  void stop();
  /// Rejects new jobs from now on. Existing jobs continue.
  void drain() { draining_ = true; }
  bool idle() const { return jobs_here_ == 0; }

  /// Runs one round: admits jobs, and then runs a prefill step or a decode step. Returns false if
  /// there was nothing to do. run() and simulations call it.
  bool turn();

  /// Returns the seconds since the last call of turn(), by the clock of the engine. The path
  /// /health/live uses it to report whether the engine's thread still works.
  double seconds_since_turn() const;

  /// Runs a command on the engine's thread, between two steps. It may be called on any thread.
  void post(std::function<void()> command);
  bool stopped() const { return stopping_; }
  /// Makes the prefix cache also store snapshots on disk. Call it before run(). Throws UserError if
  /// the folder cannot be used.
  void open_disk(DiskOptions options);

  // The following functions manage the named sessions of an API key. A session is a snapshot that
  // has a name. If a client gives a name to a conversation (Job::conversation), the most recent
  // sequence of this conversation is the session with this name. Call the functions only in
  // commands of post().
  using SessionDone = std::function<void(const SessionAnswer&)>;
  std::vector<SessionInfo> sessions(const std::string& key);
  bool has_session(const std::string& key, const std::string& name) {
    return session_of(key, name) != nullptr;
  }
  /// Saves the session `from` to disk under `name`. If `from` is empty, saves the most recent
  /// sequence of the API key.
  void save_session(const std::string& key, const std::string& from, const std::string& name,
                    SessionDone done);
  /// Loads the saved session `name` into the prefix cache, where it gets the name `as`.
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
  bool make_room(size_t bytes, bool now = false);
  enum class Room : uint8_t { kReserved, kLater, kNever };
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
  Room start_load(const std::shared_ptr<Snapshot>& snapshot, LoadDone done);
  void bring_back(RunningJob& job);
  void stop_awaiting(RunningJob& job);
  void open_host();
  void poll_host();
  void write_snapshot(const std::shared_ptr<Snapshot>& snapshot, const std::string& session,
                      DiskStore::Done done);
  void write_clone(const std::shared_ptr<Snapshot>& snapshot, StoredFile file,
                   std::unique_ptr<ServedSequence> clone, DiskStore::Done done);
  void loaded_to_host(const std::shared_ptr<Snapshot>& snapshot,
                      std::unique_ptr<ServedSequence> sequence, const LoadDone& done);
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
  bool evict_one(bool now = false);
  void trim_cache();
  size_t most_cached() const;
  RunningJob* pick_long();
  RunningJob* pick_short();
  void advance(RunningJob& job, const std::function<void()>& yield);
  void prefill_done(RunningJob& job);
  void add_choice(RunningJob& job, std::unique_ptr<ServedSequence> sequence);
  void between_layers();
  void decode_if_due();
  void count_as_admitted(const std::string& key);
  bool decode(bool another_follows);
  void choose_rows();
  void take_tokens();
  void make_piece(RunningJob& job, RunningJob::Choice& choice, ReplyPiece piece);
  void give_pieces();
  void give_pieces(RunningJob& job);
  void end_all_done();
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
  /// The most recent sequence of each API key.
  std::map<std::string, std::weak_ptr<Snapshot>> latest_;
  size_t loading_bytes_ = 0;
  double last_work_ = 0;
  /// Pinned snapshots, by the name in Job::pin. The scheduler holds a lease of each
  /// (PrefixCache::lease).
  std::map<std::string, std::shared_ptr<Snapshot>> pins_;
  struct UnsavedPin {
    std::shared_ptr<Snapshot> snapshot;
    std::function<void(const std::string& error)> saved;
  };
  /// Pinned snapshots that have not been written to disk yet, by the name in Job::pin.
  std::map<std::string, UnsavedPin> unsaved_;
  std::map<std::string, size_t> stored_pins_;
  Jobs jobs_;  ///< in the order of their arrival

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

  /// The rows of a decode step.
  struct DecodedChoice {
    RunningJob* job;
    size_t choice;
  };
  std::vector<DecodedChoice> decoded_;
  std::vector<DecodeEntry> entries_;
  std::vector<BestLogit> highest_;

  double decode_ended_ = -1;   ///< end of the last decode step
  double decode_seconds_ = 0;  ///< average duration of a decode step; recent steps have more weight
  /// While a long prompt is prefilled, own_seconds_ is the time of this prefill, and side_seconds_
  /// is the time of other work between its layers. Both are halved from time to time, so that
  /// recent work has more weight. side_ended_ is the time at which such other work last ended.
  double side_seconds_ = 0, own_seconds_ = 0, side_ended_ = 0;
  int shorts_in_row_ = 0;
  MaskThreads masks_;
  std::unique_ptr<HostTier> host_;   ///< null: the engine has no host memory beside a device
  std::unique_ptr<DiskStore> disk_;  ///< declared last, because its thread uses the engine
};

}  // namespace longhaul::serve
