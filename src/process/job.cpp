#include "process/job.hpp"

#include <csignal>
#include <cstring>
#include <string_view>

namespace allm {
namespace {

Json limits_message(const ToolLimits& limits) {
  const Sandbox& sandbox = limits.sandbox;
  Json message = {{"network", sandbox.network},
                  {"read_only", sandbox.read_only},
                  {"writable", sandbox.writable},
                  {"required", sandbox.required}};
  if (limits.memory) message["memory"] = *limits.memory;
  if (limits.cpu_time) message["cpu_s"] = limits.cpu_time->count();
  if (limits.open_files) message["files"] = *limits.open_files;
  return message;
}

ToolLimits limits_from(const Json& message) {
  ToolLimits limits;
  limits.memory.reset();
  limits.open_files.reset();
  limits.sandbox = {.network = message.at("network").get<bool>(),
                    .read_only = message.at("read_only").get<bool>(),
                    .writable = message.at("writable").get<std::vector<std::string>>(),
                    .required = message.at("required").get<bool>()};
  if (message.contains("memory")) limits.memory = message["memory"].get<std::uint64_t>();
  if (message.contains("cpu_s")) limits.cpu_time = std::chrono::seconds(message["cpu_s"].get<std::int64_t>());
  if (message.contains("files")) limits.open_files = message["files"].get<std::uint64_t>();
  return limits;
}

// Limits of execve: MAX_ARG_STRLEN with the final zero, and three quarters of _STK_LIM.
constexpr std::size_t kMaxTextBytes = std::size_t{128} << 10U;
constexpr std::size_t kMaxTotalBytes = std::size_t{6} << 20U;

}  // namespace

std::expected<void, std::string> check_size(const JobRequest& request) {
  std::size_t total = 0;
  for (const auto* texts : {&request.argv, &request.environment}) {
    for (const std::string& text : *texts) {
      if (text.size() >= kMaxTextBytes) {
        return std::unexpected("an argument or environment variable has " + std::to_string(text.size()) +
                               " bytes; the system's limit is " + std::to_string(kMaxTextBytes - 1));
      }
      total += text.size() + 1;
    }
  }
  if (total > kMaxTotalBytes) {
    return std::unexpected("arguments and environment have " + std::to_string(total) +
                           " bytes; the system's limit is " + std::to_string(kMaxTotalBytes));
  }
  return {};
}

Json to_message(const JobRequest& request) {
  return {{"start", request.id},
          {"worker", request.is_worker},
          {"argv", request.argv},
          {"environment", request.environment},
          {"directory", request.directory},
          {"limits", limits_message(request.limits)},
          {"fds", request.fds},
          {"needs_error_output", request.needs_error_output}};
}

JobRequest job_request_from(const Json& message) {
  return {.id = message.at("start").get<std::uint64_t>(),
          .is_worker = message.at("worker").get<bool>(),
          .argv = message.at("argv").get<std::vector<std::string>>(),
          .environment = message.at("environment").get<std::vector<std::string>>(),
          .directory = message.at("directory").get<std::string>(),
          .limits = limits_from(message.at("limits")),
          .fds = message.at("fds").get<std::vector<int>>(),
          .needs_error_output = message.value("needs_error_output", true)};
}

Json to_message(const JobEnd& end) {
  Json message = {{"ended", end.id}, {"error", end.error}, {"error_output", end.error_output}, {"lost", end.lost}};
  if (end.status) message["status"] = *end.status;
  if (end.signal) message["signal"] = *end.signal;
  return message;
}

JobEnd job_end_from(const Json& message) {
  JobEnd end{.id = message.at("ended").get<std::uint64_t>(),
             .error = message.at("error").get<std::string>(),
             .lost = message.at("lost").get<std::string>(),
             .error_output = message.at("error_output").get<std::string>()};
  if (message.contains("status")) end.status = message["status"].get<int>();
  if (message.contains("signal")) end.signal = message["signal"].get<int>();
  return end;
}

Json stop_message(std::uint64_t place, std::chrono::milliseconds grace) {
  return {{"stop", place}, {"grace_ms", grace.count()}};
}

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

std::string describe(const JobEnd& end) {
  if (!end.error.empty()) return "could not be started: " + end.error;
  if (!end.lost.empty()) return "was ended: " + end.lost;
  if (end.signal) return "was killed by " + signal_name(*end.signal);
  return "exited with status " + std::to_string(end.status.value_or(0));
}

}  // namespace allm
