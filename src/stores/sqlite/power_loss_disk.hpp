// A disk for tests that forgets what was not synced when its power is lost. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allm::testing {

// What becomes of writes that were not synced when the power is lost.
enum class UnsyncedWrites : std::uint8_t {
  lost,
  kept,
  torn,  // each sector of each write is kept or lost by chance
};

// A file: its bytes as programs see them, and those that are safe.
class DiskFile {
 public:
  void write(std::size_t offset, std::string_view bytes) {
    pending_.push_back({offset, std::string(bytes), false});
    apply(current_, pending_.back());
  }
  void truncate(std::size_t size) {
    pending_.push_back({size, {}, true});
    apply(current_, pending_.back());
  }
  void sync() {
    durable_ = current_;
    pending_.clear();
  }
  const std::string& bytes() const { return current_; }

  void lose_power(UnsyncedWrites unsynced, std::mt19937& random) {
    if (unsynced == UnsyncedWrites::kept) durable_ = current_;
    if (unsynced == UnsyncedWrites::torn) {
      for (const Change& change : pending_) keep_some_sectors(change, random);
    }
    current_ = durable_;
    pending_.clear();
  }

 private:
  struct Change {
    std::size_t offset = 0;  // or the new size
    std::string bytes = {};
    bool truncates = false;
  };
  static constexpr std::size_t kSector = 512;

  static void apply(std::string& file, const Change& change) {
    if (change.truncates) return file.resize(std::min(file.size(), change.offset));
    file.resize(std::max(file.size(), change.offset + change.bytes.size()));
    file.replace(change.offset, change.bytes.size(), change.bytes);
  }

  void keep_some_sectors(const Change& change, std::mt19937& random) {
    const auto kept = [&random] { return random() % 2 == 0; };
    if (change.truncates) {
      if (kept()) apply(durable_, change);
      return;
    }
    for (std::size_t begin = 0; begin < change.bytes.size();) {
      const std::size_t offset = change.offset + begin;
      const std::size_t size = std::min(kSector - offset % kSector, change.bytes.size() - begin);
      if (kept()) apply(durable_, {offset, change.bytes.substr(begin, size), false});
      begin += size;
    }
  }

  std::string current_;
  std::string durable_;
  std::vector<Change> pending_;
};

// The files of a disk, by path. The power is lost just before a chosen sync; from then on every operation fails, until
// the disk is restarted.
class PowerLossDisk {
 public:
  // Loses power at sync number `number`, from 1; 0: never.
  void lose_power_at(std::size_t number) {
    syncs_ = 0;
    fatal_sync_ = number;
  }
  std::size_t syncs() const { return syncs_; }
  bool is_dead() const { return dead_; }

  DiskFile& open(const std::string& path) {
    deleted_.erase(path);
    return files_[path];
  }
  bool exists(const std::string& path) const { return files_.contains(path); }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const auto& [path, file] : files_) paths.push_back(path);
    return paths;
  }
  // Without a sync of the folder, the file may be there again after a loss of power.
  void remove(const std::string& path, bool durable) {
    const auto found = files_.find(path);
    if (found == files_.end()) return;
    if (!durable) deleted_[path] = found->second;
    files_.erase(found);
  }
  void sync_folder() { deleted_.clear(); }
  // False if the power is lost.
  bool sync(DiskFile& file) {
    if (++syncs_ == fatal_sync_) dead_ = true;
    if (!dead_) file.sync();
    return !dead_;
  }

  // Nothing may have a file open.
  void restart(UnsyncedWrites unsynced, std::mt19937& random) {
    for (auto& [path, file] : deleted_) {
      if (unsynced == UnsyncedWrites::lost || (unsynced == UnsyncedWrites::torn && random() % 2 == 0)) {
        files_.emplace(path, file);
      }
    }
    deleted_.clear();
    for (auto& [path, file] : files_) file.lose_power(unsynced, random);
    dead_ = false;
    lose_power_at(0);
  }

 private:
  std::map<std::string, DiskFile> files_;
  std::map<std::string, DiskFile> deleted_;
  std::size_t syncs_ = 0;
  std::size_t fatal_sync_ = 0;
  bool dead_ = false;
};

}  // namespace allm::testing
