// The file of a recording: JSON lines. The first line names the format.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "allm/error.hpp"

#include "testing/recording/exchange.hpp"

namespace allm {

// Owns a file descriptor and closes it. One thread at a time.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

// Shared by the recording adapter and its streams. Safe to call from any thread: lines are written one at a time.
class RecordingWriter {
 public:
  // Fails with EngineError `invalid_engine`.
  static Result<std::shared_ptr<RecordingWriter>> open(std::string path, bool append);

  // Adds a line, or takes an error in place of the line. The first failure is kept, and nothing is written after it. If
  // only a part of the line can be written, that part is removed again.
  void append(Result<std::string> line);
  // The first failure, an EngineError `invalid_engine`; nullopt if every line was written.
  std::optional<Error> failure() const;

  RecordingWriter(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

 private:
  // Returns 0 or an errno.
  int write_line(const std::string& line);

  const std::string path_;
  const FileDescriptor file_;
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
};

// The exchanges in order; exchange i is on line i + 2. Fails as replay() does. Blocks while it reads.
Result<std::vector<Exchange>> read_recording(const std::string& path);

}  // namespace allm
