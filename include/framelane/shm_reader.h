/* A reader: takes the newest result of a channel's shm sink. A slow reader misses frames and delays nobody.
 *
 *   framelane_shm_reader reader;
 *   framelane_shm_reader_open(&reader, "/tmp/framelane-script-out.sock", "my-viewer", 10000);
 *   framelane_shm_result result;
 *   while (framelane_shm_read(&reader, -1, pixels, sizeof pixels, &result) == 0) show(pixels, &result);
 *   framelane_shm_reader_close(&reader);
 *
 * Owned by one thread. Every function returns 0 or a negative errno; connection.error then holds a sentence. */
#ifndef FRAMELANE_SHM_READER_H
#define FRAMELANE_SHM_READER_H

#include "shm_connection.h"

typedef struct framelane_shm_reader {
  framelane_shm_connection connection; /* welcome holds the format of full frames */
  const uint8_t* mapping;
  const framelane_shm_publication* publication;
  uint64_t seen; /* the count of published frames at the last one that was taken */
} framelane_shm_reader;

typedef struct framelane_shm_result {
  const uint8_t* data; /* in shared memory: valid as long as framelane_shm_intact() says so */
  framelane_shm_entry entry;
  uint64_t missed; /* results between the last one taken and this one */
} framelane_shm_result;

static inline void framelane_shm_reader_close(framelane_shm_reader* r) {
  if (r->mapping != NULL) munmap((void*)(uintptr_t)r->mapping, r->connection.welcome.file_bytes);
  r->mapping = NULL;
  framelane_shm_disconnect(&r->connection);
}

static inline int framelane_shm_reader_open(framelane_shm_reader* r, const char* path, const char* client,
                                            int timeout_ms) {
  framelane_shm_hello hello;
  memset(&hello, 0, sizeof hello);
  memset(r, 0, sizeof *r);
  hello.header.magic = FRAMELANE_SHM_MAGIC;
  hello.header.version = FRAMELANE_SHM_VERSION;
  hello.header.type = FRAMELANE_SHM_HELLO;
  hello.header.size = sizeof hello;
  hello.header.role = FRAMELANE_SHM_READER;
  snprintf(hello.client, sizeof hello.client, "%s", client);
  int code = framelane_shm_join(&r->connection, path, &hello, timeout_ms);
  if (code != 0) return code;
  void* mapping = mmap(NULL, r->connection.welcome.file_bytes, PROT_READ, MAP_SHARED, r->connection.fd[0], 0);
  if (mapping == MAP_FAILED) {
    code = framelane_shm_fail(&r->connection, errno, "the results cannot be mapped");
    framelane_shm_reader_close(r);
    return code;
  }
  r->mapping = (const uint8_t*)mapping;
  r->publication = (const framelane_shm_publication*)mapping;
  /* What was published last is still news to this reader. */
  r->seen = __atomic_load_n(&r->publication->published, __ATOMIC_ACQUIRE);
  if (r->seen > 0) --r->seen;
  close(r->connection.fd[0]);
  r->connection.fd[0] = -1;
  return 0;
}

static inline const framelane_shm_entry* framelane_shm_entry_of(const framelane_shm_reader* r, uint64_t number) {
  const framelane_shm_welcome* w = &r->connection.welcome;
  return (const framelane_shm_entry*)(r->mapping + w->entry_offset + (number - 1) % w->slots * w->entry_bytes);
}

/* 1: what was read of result->data until now is whole; 0: it has been overwritten meanwhile. */
static inline int framelane_shm_intact(const framelane_shm_reader* r, const framelane_shm_result* result) {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  const framelane_shm_entry* entry = framelane_shm_entry_of(r, result->entry.sequence / 2);
  return __atomic_load_n(&entry->sequence, __ATOMIC_RELAXED) == result->entry.sequence;
}

/* Waits for a result that is newer than the last one and gives the newest, in place. -EAGAIN: none within the
 * time; -EPIPE: the engine has closed. A negative timeout waits for ever. */
static inline int framelane_shm_view(framelane_shm_reader* r, int timeout_ms, framelane_shm_result* result) {
  int64_t deadline = framelane_shm_now_ns() + (int64_t)timeout_ms * 1000000;
  for (;;) {
    uint64_t published = __atomic_load_n(&r->publication->published, __ATOMIC_ACQUIRE);
    if (published != r->seen) {
      const framelane_shm_entry* entry = framelane_shm_entry_of(r, published);
      const framelane_shm_welcome* w = &r->connection.welcome;
      uint64_t sequence = __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE);
      memcpy(&result->entry, entry, sizeof result->entry);
      result->entry.sequence = published * 2;
      if (sequence != published * 2 || !framelane_shm_intact(r, result)) continue; /* a newer one is there */
      result->data = r->mapping + w->slots_offset + (published - 1) % w->slots * w->slot_stride_bytes;
      result->missed = published - r->seen - 1;
      r->seen = published;
      return 0;
    }
    int left = framelane_shm_left_ms(deadline, timeout_ms);
    int rung = framelane_shm_wait_bell(&r->connection, left);
    if (rung < 0) return rung;
    if (rung == 0 && left == 0) return framelane_shm_fail(&r->connection, EAGAIN, "no new result");
  }
}

/* As framelane_shm_view(), with a copy of the pixels that is whole. -EMSGSIZE: `size` is too small. */
static inline int framelane_shm_read(framelane_shm_reader* r, int timeout_ms, void* into, size_t size,
                                     framelane_shm_result* result) {
  uint64_t missed = 0;
  for (;;) {
    int code = framelane_shm_view(r, timeout_ms, result);
    if (code != 0) return code;
    if (result->entry.bytes > size) return framelane_shm_fail(&r->connection, EMSGSIZE, "the buffer is too small");
    memcpy(into, result->data, result->entry.bytes);
    result->missed += missed;
    if (framelane_shm_intact(r, result)) return 0;
    missed = result->missed + 1;
  }
}

#endif
