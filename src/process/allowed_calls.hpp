// Lists of system calls by name. A name that the installed libseccomp or this architecture does not know is skipped.
#pragma once

namespace allm {

// What programs need that stay in their own process and among their own descriptors, and calls that the kernel checks
// against the sandbox itself (opening and changing files: Landlock; signals: Landlock 6).
inline constexpr const char* kAllowedCalls[] = {
    // clang-format off
    // Descriptors and files.
    "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "creat", "close", "close_range", "lseek", "_llseek", "dup", "dup2", "dup3", "fcntl", "fcntl64",
    "flock", "stat", "stat64", "fstat", "fstat64", "lstat", "lstat64", "newfstatat", "fstatat64", "statx", "statfs",
    "statfs64", "fstatfs", "fstatfs64", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents",
    "getdents64", "getcwd", "chdir", "fchdir", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat",
    "renameat2", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "ftruncate",
    "ftruncate64", "fallocate", "fadvise64", "fadvise64_64", "readahead", "sync", "syncfs", "fsync", "fdatasync",
    "sync_file_range", "copy_file_range", "sendfile", "sendfile64", "splice", "tee", "vmsplice", "umask", "getxattr",
    "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr", "name_to_handle_at", "inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch", "pipe", "pipe2", "memfd_create",
    "io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents",
    // Waiting.
    "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6", "pselect6_time64", "epoll_create",
    "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_wait", "epoll_wait_old", "epoll_pwait", "epoll_pwait2",
    "eventfd", "eventfd2", "signalfd", "signalfd4", "timerfd_create", "timerfd_settime", "timerfd_settime64",
    "timerfd_gettime", "timerfd_gettime64", "pause", "nanosleep", "clock_nanosleep", "clock_nanosleep_time64",
    "restart_syscall",
    // Memory.
    "brk", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "msync", "mincore", "mlock", "mlock2", "mlockall",
    "munlock", "munlockall", "remap_file_pages", "mbind", "get_mempolicy", "set_mempolicy", "pkey_alloc", "pkey_free",
    "pkey_mprotect", "membarrier", "mseal", "map_shadow_stack",
    // Processes and threads. clone and prctl are checked by their arguments.
    "fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "waitpid", "getpid", "getppid",
    "gettid", "getpgid", "getpgrp", "setpgid", "getsid", "setsid", "set_tid_address", "set_robust_list",
    "get_robust_list", "rseq", "futex", "futex_time64", "futex_waitv", "arch_prctl", "set_thread_area",
    "get_thread_area", "pidfd_open", "sched_yield", "sched_getaffinity", "sched_getattr", "sched_getparam",
    "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval",
    "sched_rr_get_interval_time64", "getpriority", "ioprio_get", "getcpu", "seccomp", "landlock_create_ruleset",
    "landlock_add_rule", "landlock_restrict_self", "riscv_hwprobe", "riscv_flush_icache",
    // Users and limits of the process itself. They give no power that the process does not have.
    "getuid", "getuid32", "geteuid", "geteuid32", "getgid", "getgid32", "getegid", "getegid32", "getgroups",
    "getgroups32", "getresuid", "getresuid32", "getresgid", "getresgid32", "setuid", "setuid32", "setgid", "setgid32",
    "setgroups", "setgroups32", "setreuid", "setreuid32", "setregid", "setregid32", "setresuid", "setresuid32",
    "setresgid", "setresgid32", "setfsuid", "setfsuid32", "setfsgid", "setfsgid32", "capget", "capset", "getrlimit",
    "setrlimit", "ugetrlimit", "getrusage", "times",
    // Signals and timers.
    "rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_sigtimedwait_time64", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "sigaltstack", "sigreturn", "kill", "tkill",
    "tgkill", "pidfd_send_signal", "alarm", "getitimer", "setitimer", "timer_create", "timer_settime",
    "timer_settime64", "timer_gettime", "timer_gettime64", "timer_getoverrun", "timer_delete",
    // Facts.
    "time", "gettimeofday", "clock_gettime", "clock_gettime64", "clock_getres", "clock_getres_time64", "uname",
    "sysinfo", "getrandom", "cachestat",
    // Sockets that the process has: its line, and pairs of its own.
    "recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64", "sendmsg", "sendmmsg", "getsockopt", "setsockopt",
    "getsockname", "getpeername", "shutdown",
    // clang-format on
};

// Allowed, unless files are read-only and Landlock does not notice that a file is truncated.
inline constexpr const char* kTruncatingCalls[] = {"open", "openat", "openat2", "truncate", "truncate64"};

// Allowed with `network`. sendto and socketpair are checked by their arguments without it.
inline constexpr const char* kNetworkCalls[] = {
    "socket", "connect", "bind", "listen", "accept", "accept4", "sendto", "socketpair",
};

// Allowed without `read_only`: changes of attributes, which Landlock does not restrict.
inline constexpr const char* kAttributeCalls[] = {
    "chmod",        "fchmod",       "fchmodat", "chown",    "chown32",   "fchown",           "fchown32",
    "lchown",       "lchown32",     "fchownat", "setxattr", "lsetxattr", "fsetxattr",        "removexattr",
    "lremovexattr", "fremovexattr", "utime",    "utimes",   "utimensat", "utimensat_time64", "futimesat",
};

// Refused with EPERM: ways into other processes, other namespaces, the kernel, and to memory and messages that are
// shared with processes outside. Every other call gives ENOSYS.
inline constexpr const char* kRefusedCalls[] = {
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "pidfd_getfd",
    "kcmp",
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "mount_setattr",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "setns",
    "unshare",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "keyctl",
    "add_key",
    "request_key",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "open_by_handle_at",
    "lookup_dcookie",
    "fanotify_init",
    "fanotify_mark",
    "acct",
    "swapon",
    "swapoff",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "syslog",
    "settimeofday",
    "clock_settime",
    "clock_settime64",
    "clock_adjtime",
    "clock_adjtime64",
    "adjtimex",
    "sethostname",
    "setdomainname",
    "vhangup",
    "iopl",
    "ioperm",
    "modify_ldt",
    "migrate_pages",
    "move_pages",
    "shmget",
    "shmat",
    "shmctl",
    "shmdt",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "semget",
    "semop",
    "semctl",
    "semtimedop",
    "mq_open",
    "mq_unlink",
    "mq_timedsend",
    "mq_timedreceive",
    "mq_notify",
    "mq_getsetattr",
};

}  // namespace allm
