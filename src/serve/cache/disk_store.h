#pragma once
// Snapshots on disk: session files in a folder of `--cache-dir`, and a manifest that lists them. A
// thread of its own writes and loads them. The other functions belong to the engine's thread.

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "serve/cache/manifest.h"
#include "serve/cache/snapshot.h"

namespace longhaul::serve {

struct DiskOptions {
  std::filesystem::path folder;
  size_t most_bytes = 0;     ///< `--cache-disk`; 0: no limit
  uint64_t fingerprint = 0;  ///< model and settings; files of others are left alone
  std::function<void(const std::string&)> log;
};

class DiskStore {
 public:
  /// Creates the folder if there is none, locks it and reads its manifest. Removes files that no
  /// line of the manifest names. Throws UserError that names the process which holds the lock.
  DiskStore(EnginePort& engine, DiskOptions options);
  ~DiskStore();  ///< finishes the files that are being written

  /// Files of the manifest, with their tokens. Damaged ones are renamed to .bad.
  const std::map<std::string, StoredFile>& files() const { return files_; }

  /// Writes a clone. `done` is called by poll(), with an error or an empty text.
  using Done = std::function<void(const std::string& error)>;
  void write(StoredFile file, std::unique_ptr<ServedSequence> clone, Done done);
  /// Loads a file, after its parents. `done` is called by poll(); the sequence is null if the file
  /// was damaged, in which case it is renamed to .bad and forgotten.
  using Loaded = std::function<void(std::unique_ptr<ServedSequence>, const std::string& error)>;
  void load(const std::string& name, Loaded done);
  /// Calls what is done. Returns whether there was anything.
  bool poll();
  bool busy() const;

  /// Removes a file, unless others need its rows or documents need it. Returns whether it is gone.
  bool remove(const std::string& name);
  /// A document that needs the file: it stays until remove_pin().
  void add_pin(const std::string& name, const std::string& pin);
  /// Returns the file that the document needed; empty: none.
  std::string remove_pin(const std::string& pin);
  /// The file that a document needs, or null.
  const StoredFile* find_pin(const std::string& pin) const;
  /// Lists `file` as the session of this name, and no other file. An empty `file`: none.
  void take_session_name(const std::string& session, const std::string& file);
  /// The file of a session, or null.
  const std::string* find_session(const std::string& session) const;
  const StoredFile* find(const std::string& name) const;

  size_t bytes() const { return bytes_; }
  int damaged() const { return damaged_; }
  double bytes_per_second() const { return speed_; }
  /// A name that no file has.
  std::string new_name();

 private:
  void run();
  void lock_folder();
  void read_manifest();
  void drop_strangers();
  void append(const std::string& line);
  void append_later(const std::string& line);
  void make_room(size_t bytes);
  void mark_damaged(const std::string& name, const std::string& why);
  std::unique_ptr<ServedSequence> load_chain(const std::vector<StoredFile>& chain,
                                             std::string& damaged_name);
  void add_task(std::function<void()> task);
  void add_done(std::function<void()> done);

  EnginePort& engine_;
  DiskOptions options_;
  int lock_ = -1, manifest_ = -1;
  std::map<std::string, StoredFile> files_;
  size_t bytes_ = 0;
  int damaged_ = 0;
  double speed_ = 500e6;  ///< speed of the latest load or write, in bytes per second

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_, done_;
  bool stopping_ = false, working_ = false;
  std::thread thread_;
};

}  // namespace longhaul::serve
