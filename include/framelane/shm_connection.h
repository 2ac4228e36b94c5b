/* How a client reaches the engine: the part that producers and readers share. C11, Linux, gcc or clang. */
#ifndef FRAMELANE_SHM_CONNECTION_H
#define FRAMELANE_SHM_CONNECTION_H

/* Sockets and clocks are no C11: include this header first, or compile as gnu11. */
#if !defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1
#endif

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shm_layout.h"

/* Owned by one thread of the client. */
typedef struct framelane_shm_connection {
  int socket; /* -1: not connected */
  int fd[2];  /* as received; -1: none. Closed once mapped */
  framelane_shm_welcome welcome;
  char error[256]; /* one sentence after a call that failed */
} framelane_shm_connection;

static inline int64_t framelane_shm_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* -> poll()'s milliseconds; a negative timeout waits for ever. */
static inline int framelane_shm_left_ms(int64_t deadline_ns, int timeout_ms) {
  if (timeout_ms < 0) return -1;
  int64_t left = deadline_ns - framelane_shm_now_ns();
  return left <= 0 ? 0 : (int)((left + 999999) / 1000000);
}

static inline int framelane_shm_fail(framelane_shm_connection* c, int code, const char* text) {
  snprintf(c->error, sizeof c->error, "%s", text);
  return -code;
}

static inline void framelane_shm_disconnect(framelane_shm_connection* c) {
  if (c->socket >= 0) close(c->socket);
  for (int i = 0; i < 2; ++i) {
    if (c->fd[i] >= 0) close(c->fd[i]);
    c->fd[i] = -1;
  }
  c->socket = -1;
}

/* A leading '@' means the abstract namespace. 0 or a negative errno. */
static inline int framelane_shm_dial(framelane_shm_connection* c, const char* path) {
  struct sockaddr_un address;
  size_t length = strlen(path);
  if (length == 0 || length >= sizeof address.sun_path) return -ENAMETOOLONG;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '@' ? 0 : 1));
  c->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (c->socket < 0) return -errno;
  if (connect(c->socket, (const struct sockaddr*)&address, size) == 0) return 0;
  int code = errno;
  framelane_shm_disconnect(c);
  return -code;
}

/* Takes the answer to HELLO with its descriptors into c. */
static inline int framelane_shm_answer(framelane_shm_connection* c, unsigned fds_wanted) {
  union {
    framelane_shm_header header;
    framelane_shm_welcome welcome;
    framelane_shm_refused refused;
    char bytes[FRAMELANE_SHM_MESSAGE_BYTES];
  } message;
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(2 * sizeof(int))];
  } rights;
  struct iovec part = {&message, sizeof message};
  struct msghdr packet;
  ssize_t size = -1;
  /* An engine that refuses may close before it has read our HELLO: that error comes before its sentence. */
  for (int tries = 0; tries < 2 && size < 0; ++tries) {
    memset(&packet, 0, sizeof packet);
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = rights.bytes;
    packet.msg_controllen = sizeof rights.bytes;
    size = recvmsg(c->socket, &packet, MSG_CMSG_CLOEXEC);
    if (size < 0 && errno != ECONNRESET && errno != EPIPE && errno != EINTR) break;
  }
  if (size <= 0) return framelane_shm_fail(c, EPIPE, "the engine closed the connection");
  unsigned fds = 0;
  for (struct cmsghdr* m = CMSG_FIRSTHDR(&packet); m != NULL; m = CMSG_NXTHDR(&packet, m)) {
    if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS) continue;
    fds = (unsigned)((m->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(c->fd, CMSG_DATA(m), fds * sizeof(int));
  }
  if ((size_t)size < sizeof(framelane_shm_header) || message.header.magic != FRAMELANE_SHM_MAGIC ||
      message.header.version != FRAMELANE_SHM_VERSION)
    return framelane_shm_fail(c, EPROTO, "the answer is of another protocol or version");
  if (message.header.type == FRAMELANE_SHM_REFUSED && (size_t)size >= sizeof message.refused) {
    message.refused.text[sizeof message.refused.text - 1] = '\0';
    return framelane_shm_fail(c, message.refused.reason == FRAMELANE_SHM_BUSY ? EBUSY : ECONNREFUSED,
                              message.refused.text);
  }
  if (message.header.type != FRAMELANE_SHM_WELCOME || (size_t)size < sizeof message.welcome || fds != fds_wanted)
    return framelane_shm_fail(c, EPROTO, "the answer is no WELCOME");
  c->welcome = message.welcome;
  return 0;
}

/* Connects, says HELLO and waits for WELCOME. Tries again until the time-out while nobody listens, or while
 * the place is taken. 0; -ETIMEDOUT, -EBUSY, -ECONNREFUSED (refused for good), -EPROTO... with c->error set. */
static inline int framelane_shm_join(framelane_shm_connection* c, const char* path, const framelane_shm_hello* hello,
                                     int timeout_ms) {
  int64_t deadline = framelane_shm_now_ns() + (int64_t)timeout_ms * 1000000;
  unsigned fds = hello->header.role == FRAMELANE_SHM_PRODUCER ? 2 : 1;
  c->socket = c->fd[0] = c->fd[1] = -1;
  snprintf(c->error, sizeof c->error, "nobody listens at %s", path);
  for (int last = -ETIMEDOUT;;) {
    int code = framelane_shm_dial(c, path);
    if (code == 0) {
      (void)!send(c->socket, hello, sizeof *hello, MSG_NOSIGNAL); /* the answer tells whether it arrived */
      struct pollfd waiting = {c->socket, POLLIN, 0};
      if (poll(&waiting, 1, framelane_shm_left_ms(deadline, timeout_ms)) > 0) {
        code = framelane_shm_answer(c, fds);
      } else {
        code = last == -EBUSY ? last : framelane_shm_fail(c, ETIMEDOUT, "the engine did not answer in time");
      }
      if (code == 0) return 0;
      framelane_shm_disconnect(c);
      if (code != -EBUSY && code != -EPIPE) return code;
      last = code == -EBUSY ? code : -ETIMEDOUT;
    } else if (code != -ENOENT && code != -ECONNREFUSED && code != -EAGAIN) {
      snprintf(c->error, sizeof c->error, "%s: %s", path, strerror(-code));
      return code;
    }
    if (framelane_shm_left_ms(deadline, timeout_ms) == 0) return last;
    /* Nothing announces that somebody begins to listen, or that the place comes free. */
    poll(NULL, 0, 50);
  }
}

/* Waits for a bell. 1: rung, 0: time-out, -EPIPE: the engine has closed. */
static inline int framelane_shm_wait_bell(framelane_shm_connection* c, int timeout_ms) {
  struct pollfd waiting = {c->socket, POLLIN, 0};
  int ready = poll(&waiting, 1, timeout_ms);
  if (ready < 0) return errno == EINTR ? 1 : -errno;
  if (ready == 0) return 0;
  for (;;) {
    char bell[2];
    ssize_t size = recv(c->socket, bell, sizeof bell, MSG_DONTWAIT);
    if (size == 1) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 1;
    if (size < 0 && errno == EINTR) continue;
    return framelane_shm_fail(c, EPIPE, "the engine closed the connection");
  }
}

/* 0: still connected, as far as is known. */
static inline int framelane_shm_ring_bell(framelane_shm_connection* c) {
  char bell = 1;
  if (send(c->socket, &bell, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) return 0;
  /* Full: it has bells to wake up for. */
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  return framelane_shm_fail(c, EPIPE, "the engine closed the connection");
}

#endif
