// The file of a recording: JSON lines, the first of which names the format.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "allm/error.hpp"

#include "testing/recording/exchange.hpp"

namespace allm {

// Closes the file that it owns. One thread at a time.
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

// Owned together by the adapter that records and its streams; any thread. Lines of several threads do not mix.
class RecordingWriter {
 public:
  // Fails with EngineError `invalid_engine`.
  static Result<std::shared_ptr<RecordingWriter>> open(std::string path, bool append);

  // Adds a line. The first failure, also one given here instead of a line, is kept; nothing is written after it. A line
  // that could be written only in part is taken back.
  void append(Result<std::string> line);
  // EngineError `invalid_engine` if something could not be written.
  std::optional<Error> failure() const;

  RecordingWriter(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

 private:
  // 0 or an errno.
  int write_line(const std::string& line);

  const std::string path_;
  const FileDescriptor file_;
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
};

// Exchanges in order; that with index i is on line i + 2. Fails as replay() does. Blocks while it reads.
Result<std::vector<Exchange>> read_recording(const std::string& path);

}  // namespace allm
