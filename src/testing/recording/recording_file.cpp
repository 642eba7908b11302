#include "testing/recording/recording_file.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <unistd.h>
#include <utility>

#include "data/failure.hpp"
#include "testing/recording/member_reader.hpp"

namespace allm {
namespace {

Error unusable(const std::string& path, const std::string& message, Json metadata = Json::object()) {
  metadata["path"] = codec::printable(path);
  return Error(EngineError{.reason = EngineError::Reason::invalid_engine}, message, std::move(metadata));
}

// "cannot write the recording 'x': No space left on device (ENOSPC); …"
Error file_error(const std::string& what, const std::string& path, int code, const std::string& advice) {
  const char* name = ::strerrorname_np(code);
  const std::string word = name == nullptr ? std::to_string(code) : name;
  return unusable(path,
                  "cannot " + what + " the recording '" + codec::printable(path) +
                      "': " + std::generic_category().message(code) + " (" + word + "); " + advice,
                  {{"errno", word}});
}

// Opens a regular file and refuses everything else. O_NONBLOCK, because opening a pipe would block.
Result<FileDescriptor> open_file(const std::string& what, const std::string& path, int flags,
                                 const std::string& advice) {
  if (path.find('\0') != std::string::npos) return std::unexpected(file_error(what, path, EINVAL, advice));
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR));
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    return std::unexpected(file_error(what, path, errno, advice));
  }
  if (S_ISREG(status.st_mode)) return file;
  return std::unexpected(file_error(what, path, S_ISDIR(status.st_mode) ? EISDIR : EINVAL, "name a regular file"));
}

// Reads a file line by line. A line that exceeds kMaxRecordingLine is returned incomplete, and its parser refuses it.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  // Nullopt at the end. The line is valid until the next call.
  std::optional<std::string_view> next() {
    buffer_.erase(0, std::exchange(used_, 0));
    std::size_t searched = 0;
    while (true) {
      const std::size_t end = buffer_.find('\n', searched);
      if (end != std::string::npos) return line(end, 1);
      searched = buffer_.size();
      if (searched > kMaxRecordingLine || !more()) return searched == 0 ? std::nullopt : line(searched, 0);
    }
  }
  int code() const { return code_; }  // the errno of a failed read, otherwise 0

 private:
  std::optional<std::string_view> line(std::size_t size, std::size_t line_break) {
    used_ = size + line_break;
    return std::string_view(buffer_).substr(0, size);
  }

  bool more() {
    std::array<char, 65536> bytes;
    ssize_t count = 0;
    do {
      count = ::read(fd_, bytes.data(), bytes.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) code_ = errno;
    if (count > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

  int fd_;
  std::string buffer_;
  std::size_t used_ = 0;
  int code_ = 0;
};

Error damaged(const std::string& path, std::size_t number, const Error& error) {
  return invalid_within({std::string("lines"), static_cast<std::int64_t>(number)}, error,
                        "the recording '" + codec::printable(path) + "' is damaged at line " + std::to_string(number) +
                            ": " + error.message() + "; mend the line or record again");
}

// Whether exchanges can be added to the file.
Status check_appendable(const std::string& path, const FileDescriptor& file) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size == 0) return {};
  char last = '\0';
  if (::pread(file.get(), &last, 1, size - 1) != 1 || last != '\n') {
    return std::unexpected(unusable(path, "cannot add to the recording '" + codec::printable(path) +
                                              "': it ends within a line; mend it, or record it anew"));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  LineReader lines(file.get());
  const std::optional<std::string_view> header = lines.next();
  if (header && check_header(*header)) return {};
  return std::unexpected(unusable(path, "cannot add to '" + codec::printable(path) +
                                            "': it is not a recording of this version; name another file"));
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::shared_ptr<RecordingWriter>> RecordingWriter::open(std::string path, bool append) {
  Result<FileDescriptor> file = open_file("write", path, O_RDWR | O_CREAT | O_APPEND | (append ? 0 : O_TRUNC),
                                          "see that its folder exists and that you may write there");
  if (!file) return std::unexpected(file.error());
  if (Status fit = check_appendable(path, *file); !fit) return std::unexpected(fit.error());
  const bool empty = ::lseek(file->get(), 0, SEEK_END) == 0;
  auto writer = std::make_shared<RecordingWriter>(std::move(path), *std::move(file));
  if (empty) writer->append(recording_header());
  if (std::optional<Error> failure = writer->failure()) return std::unexpected(*std::move(failure));
  return writer;
}

int RecordingWriter::write_line(const std::string& line) {
  const off_t before = ::lseek(file_.get(), 0, SEEK_END);
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t count = ::write(file_.get(), left.data(), left.size());
    if (count >= 0) {
      left.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      const int code = errno;
      // If this fails too, the line stays damaged and replay() reports it.
      std::ignore = ::ftruncate(file_.get(), before);
      return code;
    }
  }
  return 0;
}

void RecordingWriter::append(Result<std::string> line) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  const std::string advice = "what was said since is not recorded; record again";
  if (!line) {
    failure_ = unusable(path_, "an exchange cannot be written to the recording '" + codec::printable(path_) +
                                   "': " + line.error().message() + "; " + advice);
    return;
  }
  *line += '\n';
  if (const int code = write_line(*line); code != 0) failure_ = file_error("write", path_, code, advice);
}

std::optional<Error> RecordingWriter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Result<std::vector<Exchange>> read_recording(const std::string& path) {
  const std::string advice = "record it with allm::record, or name another file";
  const Result<FileDescriptor> file = open_file("read", path, O_RDONLY, advice);
  if (!file) return std::unexpected(file.error());
  LineReader lines(file->get());
  const std::optional<std::string_view> header = lines.next();
  if (Status valid = check_header(header.value_or("")); !valid && lines.code() == 0) {
    return std::unexpected(damaged(path, 1, valid.error()));
  }
  std::vector<Exchange> exchanges;
  while (const std::optional<std::string_view> line = lines.next()) {
    Result<Exchange> exchange = read_exchange(*line);
    if (!exchange) return std::unexpected(damaged(path, exchanges.size() + 2, exchange.error()));
    exchanges.push_back(*std::move(exchange));
  }
  if (lines.code() != 0) return std::unexpected(file_error("read", path, lines.code(), advice));
  return exchanges;
}

}  // namespace allm
