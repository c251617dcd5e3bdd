#pragma once
// Stores snapshots of the prefix cache on disk. Each snapshot is a session file in a folder of
// `--cache-dir`. The manifest of the folder (serve/cache/manifest.h) lists the files. A separate
// thread writes and loads files. All functions must be called on the engine's thread.

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
  size_t most_bytes = 0;  ///< `--cache-disk` in bytes; 0: no limit
  /// Hash of the model and settings. Files with another hash belong to another server and are not
  /// used.
  uint64_t fingerprint = 0;
  /// Hashes of the offered adapters, by the name of the adapter. The hash of a file whose sequence
  /// uses an adapter is `fingerprint` combined with the adapter's hash.
  std::map<std::string, uint64_t> adapters = {};
  std::function<void(const std::string&)> log;
  double load_speed = 0;  ///< bytes per second; 0: it is measured (load_speed_of)
};

class DiskStore {
 public:
  /// Creates the folder if necessary, locks it, and reads its manifest. Removes files that the
  /// manifest does not list. Throws UserError that names the process that holds the lock.
  DiskStore(EnginePort& engine, DiskOptions options);
  ~DiskStore();  ///< completes the files that are being written

  /// Returns the files that the manifest lists, with their tokens. Damaged files are renamed to
  /// .bad and are not in the result.
  const std::map<std::string, StoredFile>& files() const { return files_; }

  /// Writes a clone of a sequence to a new file in the background. When the file is written, poll()
  /// calls `done` with an error message, or with an empty string on success.
  using Done = std::function<void(const std::string& error)>;
  void write(StoredFile file, std::unique_ptr<ServedSequence> clone, Done done);
  /// Loads a file in the background, after its parent files (StoredFile::parent), which have the
  /// keys and values of its first tokens. When the file is loaded, poll() calls `done`. If a file
  /// is damaged, the sequence is null, and the damaged file is renamed to .bad and removed from
  /// files().
  using Loaded = std::function<void(std::unique_ptr<ServedSequence>, const std::string& error)>;
  void load(const std::string& name, Loaded done);
  /// Calls the `done` function of every write or load that has completed. Returns whether there
  /// were any.
  bool poll();
  bool busy() const;

  /// Removes a file, unless it is the parent of another file or has a pin. Returns whether the file
  /// has been removed.
  bool remove(const std::string& name);
  /// Adds a pin, which is the id of a document, to a file. The file is not removed while it has a
  /// pin.
  void add_pin(const std::string& name, const std::string& pin);
  /// Removes a pin. Returns the name of the file that had the pin, or an empty name if no file had
  /// it.
  std::string remove_pin(const std::string& pin);
  /// Makes `file` the only file of the named session. If `file` is empty, the session has no file.
  void take_session_name(const std::string& session, const std::string& file);
  /// Returns the name of the session's file, or null if it has none.
  const std::string* find_session(const std::string& session) const;
  const StoredFile* find(const std::string& name) const;

  size_t bytes() const { return bytes_; }
  int damaged() const { return damaged_; }
  /// Returns the speed of loading. It is measured when the folder is opened; 0 until then.
  double bytes_per_second() const { return speed_; }
  /// Returns a name that no file has.
  std::string new_name();

 private:
  /// Returns the fingerprint of files with this key. If the key's adapter is not offered, returns a
  /// number that is the fingerprint of no file.
  uint64_t fingerprint_of(const TreeKey& key) const;
  bool is_ours(const StoredFile& file) const {
    return fingerprint_of(file.key) == file.fingerprint;
  }
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
  double speed_ = 0;  ///< bytes per second of the most recent long load, or of a measurement

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_, done_;
  bool stopping_ = false, working_ = false;
  std::thread thread_;
};

}  // namespace longhaul::serve
