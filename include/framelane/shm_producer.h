/* A producer: fills a channel's ring without a copy. docs/shm-ring.md has an example.
 *
 *   framelane_shm_producer producer;
 *   framelane_shm_open(&producer, "/tmp/framelane-script.sock", "mono8", 640, 480, 30.0, "my-grabber", 10000);
 *   framelane_shm_frame frame;
 *   if (framelane_shm_acquire(&producer, 100, &frame) == 0) {
 *     ... write frame.data, rows at producer.connection.welcome.row_stride_bytes ...
 *     framelane_shm_submit(&producer, &frame);
 *   } else {
 *     framelane_shm_lost(&producer, FRAMELANE_SHM_LOST_RING_FULL, 1);
 *   }
 *   framelane_shm_close(&producer);
 *
 * Owned by one thread. Every function returns 0 or a negative errno; connection.error then holds a sentence. */
#ifndef FRAMELANE_SHM_PRODUCER_H
#define FRAMELANE_SHM_PRODUCER_H

#include "shm_connection.h"

typedef struct framelane_shm_producer {
  framelane_shm_connection connection;
  framelane_shm_control* control;
  const uint32_t* free_queue;
  framelane_shm_descriptor* filled_queue;
  uint8_t* mapping;
  uint64_t next_frame_id;
  uint64_t taken;
  uint32_t kept[FRAMELANE_SHM_QUEUE_ENTRIES]; /* slots of cancelled frames, to be used again */
  uint32_t kept_count;
} framelane_shm_producer;

/* What can be changed before framelane_shm_submit(); acquire fills in a full frame with the next id. */
typedef struct framelane_shm_frame {
  uint8_t* data;
  uint32_t slot;
  uint32_t width;
  uint32_t height;
  uint64_t bytes;
  uint64_t frame_id;
  int64_t device_timestamp_ns;
  int begun;
} framelane_shm_frame;

typedef enum framelane_shm_loss {
  FRAMELANE_SHM_LOST_RING_FULL, /* no slot was free */
  FRAMELANE_SHM_LOST_TRANSPORT, /* it never reached this process */
  FRAMELANE_SHM_LOST_INCOMPLETE /* a part of it is missing */
} framelane_shm_loss;

static inline void framelane_shm_close(framelane_shm_producer* p) {
  if (p->mapping != NULL) munmap(p->mapping, p->connection.welcome.file_bytes);
  if (p->control != NULL) munmap(p->control, p->connection.welcome.control_bytes);
  p->mapping = NULL;
  p->control = NULL;
  framelane_shm_disconnect(&p->connection);
}

static inline int framelane_shm_map(framelane_shm_producer* p) {
  framelane_shm_connection* c = &p->connection;
  const framelane_shm_welcome* w = &c->welcome;
  void* slots = mmap(NULL, w->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd[0], 0);
  if (slots == MAP_FAILED) return framelane_shm_fail(c, errno, "the ring cannot be mapped");
  p->mapping = (uint8_t*)slots;
  void* control = mmap(NULL, w->control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd[1], 0);
  if (control == MAP_FAILED) return framelane_shm_fail(c, errno, "the control block cannot be mapped");
  p->control = (framelane_shm_control*)control;
  p->free_queue = (const uint32_t*)((const uint8_t*)control + w->free_offset);
  p->filled_queue = (framelane_shm_descriptor*)((uint8_t*)control + w->filled_offset);
  for (int i = 0; i < 2; ++i) {
    close(c->fd[i]);
    c->fd[i] = -1;
  }
  return 0;
}

/* width and height: the most that a frame will have. fps 0: unknown. Waits until the channel takes frames. */
static inline int framelane_shm_open(framelane_shm_producer* p, const char* path, const char* pixel_format,
                                     uint32_t width, uint32_t height, double fps, const char* client, int timeout_ms) {
  framelane_shm_hello hello;
  memset(&hello, 0, sizeof hello);
  memset(p, 0, sizeof *p);
  hello.header.magic = FRAMELANE_SHM_MAGIC;
  hello.header.version = FRAMELANE_SHM_VERSION;
  hello.header.type = FRAMELANE_SHM_HELLO;
  hello.header.size = sizeof hello;
  hello.header.role = FRAMELANE_SHM_PRODUCER;
  snprintf(hello.pixel_format, sizeof hello.pixel_format, "%s", pixel_format);
  snprintf(hello.client, sizeof hello.client, "%s", client);
  hello.width = width;
  hello.height = height;
  hello.fps_milli = (uint32_t)(fps * 1000.0 + 0.5);
  p->next_frame_id = 1;
  int code = framelane_shm_join(&p->connection, path, &hello, timeout_ms);
  if (code == 0) code = framelane_shm_map(p);
  if (code != 0) framelane_shm_close(p);
  return code;
}

/* Of this process's own words only: the engine never writes them. */
static inline void framelane_shm_add(uint64_t* word, uint64_t more) {
  __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + more, __ATOMIC_RELEASE);
}

/* A slot without a frame in it yet: for hardware that is given its buffers ahead. -EAGAIN: none came free within
 * the time; -EPIPE: the engine has closed. A negative timeout waits for ever. */
static inline int framelane_shm_take(framelane_shm_producer* p, int timeout_ms, framelane_shm_frame* frame) {
  const framelane_shm_welcome* w = &p->connection.welcome;
  int64_t deadline = framelane_shm_now_ns() + (int64_t)timeout_ms * 1000000;
  while (p->kept_count == 0 && __atomic_load_n(&p->control->free_count, __ATOMIC_ACQUIRE) == p->taken) {
    int left = framelane_shm_left_ms(deadline, timeout_ms);
    int rung = framelane_shm_wait_bell(&p->connection, left);
    if (rung < 0) return rung;
    if (rung == 0 && left == 0) return framelane_shm_fail(&p->connection, EAGAIN, "no slot is free");
  }
  if (p->kept_count > 0) {
    frame->slot = p->kept[--p->kept_count];
  } else {
    frame->slot = __atomic_load_n(&p->free_queue[p->taken % w->queue_entries], __ATOMIC_RELAXED);
    framelane_shm_add(&p->control->free_taken, 1);
    ++p->taken;
  }
  if (frame->slot >= w->slots) return framelane_shm_fail(&p->connection, EPROTO, "the engine lent a slot that is none");
  frame->data = p->mapping + w->slots_offset + frame->slot * w->slot_stride_bytes;
  frame->width = w->width;
  frame->height = w->height;
  frame->bytes = w->frame_bytes;
  frame->frame_id = 0;
  frame->device_timestamp_ns = 0;
  frame->begun = 0;
  return 0;
}

/* A frame begins to arrive in the slot. Should this process die now, the frame counts as incomplete. */
static inline void framelane_shm_begin(framelane_shm_producer* p, framelane_shm_frame* frame) {
  frame->frame_id = p->next_frame_id++;
  frame->begun = 1;
  framelane_shm_add(&p->control->begun, 1);
}

/* take and begin. */
static inline int framelane_shm_acquire(framelane_shm_producer* p, int timeout_ms, framelane_shm_frame* frame) {
  int code = framelane_shm_take(p, timeout_ms, frame);
  if (code == 0) framelane_shm_begin(p, frame);
  return code;
}

/* Hands the frame over; its slot is the engine's from now on. In the order of frame ids. */
static inline int framelane_shm_submit(framelane_shm_producer* p, const framelane_shm_frame* frame) {
  framelane_shm_control* control = p->control;
  uint64_t count = __atomic_load_n(&control->filled_count, __ATOMIC_RELAXED);
  framelane_shm_descriptor* d = &p->filled_queue[count % p->connection.welcome.queue_entries];
  d->slot = frame->slot;
  d->flags = 0;
  d->frame_id = frame->frame_id;
  d->device_timestamp_ns = frame->device_timestamp_ns;
  d->filled_ns = framelane_shm_now_ns();
  d->width = frame->width;
  d->height = frame->height;
  d->bytes = frame->bytes;
  d->losses_before = control->lost_ring_full + control->lost_transport + control->lost_incomplete;
  d->reserved = 0;
  p->next_frame_id = frame->frame_id + 1 > p->next_frame_id ? frame->frame_id + 1 : p->next_frame_id;
  __atomic_store_n(&control->filled_count, count + 1, __ATOMIC_RELEASE);
  return framelane_shm_ring_bell(&p->connection);
}

/* The slot stays with the producer, and nothing is counted. */
static inline void framelane_shm_cancel(framelane_shm_producer* p, const framelane_shm_frame* frame) {
  if (frame->begun) {
    framelane_shm_add(&p->control->cancelled, 1);
    if (frame->frame_id + 1 == p->next_frame_id) p->next_frame_id = frame->frame_id;
  }
  p->kept[p->kept_count++] = frame->slot;
}

/* Frames that the device delivered and that will not come. They take frame ids. */
static inline void framelane_shm_lost(framelane_shm_producer* p, framelane_shm_loss reason, uint64_t frames) {
  framelane_shm_control* control = p->control;
  p->next_frame_id += frames;
  framelane_shm_add(reason == FRAMELANE_SHM_LOST_RING_FULL   ? &control->lost_ring_full
                    : reason == FRAMELANE_SHM_LOST_TRANSPORT ? &control->lost_transport
                                                             : &control->lost_incomplete,
                    frames);
}

#endif
