//===- ChildProcess.cpp - work that may crash or hang ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The child leads a process group of its own, so that compilers which it runs
// die with it, and asks the kernel for a signal when the parent ends.
//===----------------------------------------------------------------------===//
#include "ChildProcess.h"
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fusec::tool;
using Clock = std::chrono::steady_clock;

static llvm::Error systemError(const char *call) {
  return llvm::createStringError(std::string(call) + ": " +
                                 std::strerror(errno));
}

/// The life of the child. It leaves by _exit: what the parent has buffered or
/// registered for its own end must not happen twice.
[[noreturn]] static void
runChild(int pipe, int parent,
         llvm::function_ref<void(llvm::raw_ostream &)> body) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // It ended before the request.
    _exit(0);
  {
    llvm::raw_fd_ostream os(pipe, /*shouldClose=*/false, /*unbuffered=*/true);
    body(os);
    os.clear_error();
  }
  _exit(0);
}

llvm::Expected<ChildProcess>
ChildProcess::start(llvm::function_ref<void(llvm::raw_ostream &)> body) {
  llvm::outs().flush();
  llvm::errs().flush();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return systemError("pipe2");
  int parent = getpid();
  int pid = fork();
  if (pid < 0) {
    llvm::Error error = systemError("fork");
    close(ends[0]);
    close(ends[1]);
    return error;
  }
  if (pid == 0) {
    close(ends[0]);
    runChild(ends[1], parent, body);
  }
  // Either side may be first.
  setpgid(pid, pid);
  close(ends[1]);
  return ChildProcess(pid, ends[0]);
}

ChildProcess::ChildProcess(ChildProcess &&other)
    : pid(other.pid), pipe(other.pipe), buffer(std::move(other.buffer)) {
  other.pid = other.pipe = -1;
}

ChildProcess::Event ChildProcess::next(std::string &line, double seconds) {
  auto begin = Clock::now();
  size_t end;
  while ((end = buffer.find('\n')) == std::string::npos) {
    int wait = -1;
    if (seconds > 0) {
      std::chrono::duration<double> used = Clock::now() - begin;
      if (used.count() >= seconds)
        return Event::Timeout;
      // Rounded up; waking once an hour does no harm.
      wait = int(std::min((seconds - used.count()) * 1e3 + 1, 3.6e6));
    }
    pollfd poll = {pipe, POLLIN, 0};
    if (::poll(&poll, 1, wait) <= 0)
      continue; // time is up, or a signal came
    char bytes[4096];
    ssize_t count = read(pipe, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return Event::End;
    buffer.append(bytes, count);
  }
  line = buffer.substr(0, end);
  buffer.erase(0, end + 1);
  return Event::Line;
}

std::string ChildProcess::wait() {
  // What the child has left running is killed before the child is buried:
  // until then its number is taken, so the group cannot be someone else's.
  siginfo_t info;
  while (waitid(P_PID, pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  ::kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  close(pipe);
  pid = pipe = -1;
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  if (int code = WEXITSTATUS(status))
    return "exit code " + std::to_string(code);
  return "";
}

void ChildProcess::kill() {
  if (pid < 0)
    return;
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);
  wait();
}
