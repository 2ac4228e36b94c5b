/* Framelane's shared-memory ring: what goes over the socket and what lies in shared memory.
 * docs/shm-ring.md explains it. C11 and C++; nothing but the C library.
 * Every number is in the machine's own byte order (little endian on all supported machines). */
#ifndef FRAMELANE_SHM_LAYOUT_H
#define FRAMELANE_SHM_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define FRAMELANE_SHM_MAGIC 0x4d534c46u /* "FLSM" */
#define FRAMELANE_SHM_VERSION 1u
#define FRAMELANE_SHM_QUEUE_ENTRIES 256u /* a power of two; as many as a ring can have slots */
#define FRAMELANE_SHM_MAX_SIDE 65535u    /* pixels */
#define FRAMELANE_SHM_MAX_FRAME_BYTES (UINT64_C(1) << 30)
#define FRAMELANE_SHM_MESSAGE_BYTES 512u /* no message of any version 1 peer is longer */
#define FRAMELANE_SHM_MAX_READERS 8u

/* Message types. */
#define FRAMELANE_SHM_HELLO 1u
#define FRAMELANE_SHM_WELCOME 2u
#define FRAMELANE_SHM_REFUSED 3u

/* Roles. */
#define FRAMELANE_SHM_PRODUCER 1u
#define FRAMELANE_SHM_READER 2u

/* One message is one packet of the SOCK_SEQPACKET socket. A packet of one byte is a bell: "look at your queue". */
typedef struct framelane_shm_header {
  uint32_t magic;
  uint16_t version;
  uint16_t type;
  uint32_t size; /* bytes of the whole message; a later version may append fields */
  uint32_t role;
} framelane_shm_header;

/* Client to engine, once. A reader leaves the geometry zero. */
typedef struct framelane_shm_hello {
  framelane_shm_header header;
  char pixel_format[32]; /* "mono8", "rgb16_planar"...; NUL-terminated */
  uint32_t width;        /* pixels; the most that a frame will have */
  uint32_t height;       /* rows; the most that a frame will have */
  uint32_t fps_milli;    /* 1/1000 frames per second; 0: unknown */
  uint32_t flags;        /* 0 */
  char client[64];       /* a name for messages, NUL-terminated; may be empty */
} framelane_shm_hello;

/* Engine to client, once. With it as SCM_RIGHTS, for a producer: the slots, the control block; for a reader:
 * the publication (one read-only file that holds its header and the slots). */
typedef struct framelane_shm_welcome {
  framelane_shm_header header;
  char pixel_format[32];
  uint32_t width;
  uint32_t height;
  uint64_t row_stride_bytes;
  uint64_t plane_stride_bytes; /* 0: one plane */
  uint64_t frame_bytes;        /* of a full frame */
  uint64_t file_bytes;         /* of the first file, to be mapped whole */
  uint64_t slots_offset;       /* of slot 0 in the first file */
  uint64_t slot_stride_bytes;  /* slot i begins at slots_offset + i * slot_stride_bytes */
  uint32_t slots;
  uint32_t queue_entries; /* of both queues; a power of two */
  uint64_t control_bytes; /* producer: of the control block; reader: 0 */
  uint64_t free_offset;   /* producer: of the free queue in the control block */
  uint64_t filled_offset; /* producer: of the filled queue */
  uint64_t entry_offset;  /* reader: of entry 0 in the file */
  uint32_t entry_bytes;   /* of a filled descriptor, or of a reader's entry */
  uint32_t flags;         /* 0 */
} framelane_shm_welcome;

/* Why a client is refused. */
#define FRAMELANE_SHM_BUSY 1u      /* the place is taken; it may come free */
#define FRAMELANE_SHM_MALFORMED 2u /* what it said cannot be understood or served */

/* Engine to client, then the socket is closed. */
typedef struct framelane_shm_refused {
  framelane_shm_header header;
  uint32_t reason;
  uint32_t reserved[3];
  char text[224]; /* one sentence, NUL-terminated */
} framelane_shm_refused;

/* The control block: 256 bytes, the free queue, the filled queue. All counts only grow and wrap at 2^64;
 * entry n of a queue lies at index n % queue_entries. A word is written by one side only. */
typedef struct framelane_shm_control {
  uint32_t magic;
  uint32_t version;
  uint32_t bytes;  /* of this struct */
  uint32_t closed; /* written by the engine: 1 once it takes nothing more */
  uint8_t reserved0[48];

  /* Written by the producer. */
  uint64_t filled_count;    /* descriptors ever put into the filled queue */
  uint64_t free_taken;      /* slots ever taken from the free queue */
  uint64_t begun;           /* frames whose filling began */
  uint64_t cancelled;       /* begun frames given up without being lost */
  uint64_t lost_ring_full;  /* frames that found no free slot */
  uint64_t lost_transport;  /* frames lost before they reached the producer */
  uint64_t lost_incomplete; /* frames of which a part is missing */
  uint64_t reserved1;

  /* Written by the engine. */
  uint64_t free_count;   /* slots ever put into the free queue */
  uint64_t filled_taken; /* descriptors ever taken from the filled queue */
  uint8_t reserved2[112];
} framelane_shm_control;

/* The free queue's entries are uint32_t slot numbers. */

/* An entry of the filled queue. */
typedef struct framelane_shm_descriptor {
  uint32_t slot;
  uint32_t flags;              /* 0 */
  uint64_t frame_id;           /* the device's own count */
  int64_t device_timestamp_ns; /* the device's clock; 0: none */
  int64_t filled_ns;           /* CLOCK_MONOTONIC when the last byte was in the slot; 0: unknown */
  uint32_t width;              /* delivered extent: rows keep their stride, planes theirs */
  uint32_t height;
  uint64_t bytes;         /* delivered bytes, at most slot_stride_bytes */
  uint64_t losses_before; /* lost_ring_full + lost_transport + lost_incomplete when this frame was put here */
  uint64_t reserved;
} framelane_shm_descriptor;

/* The publication's header, at offset 0 of a reader's file; read-only for readers. */
typedef struct framelane_shm_publication {
  uint32_t magic;
  uint32_t version;
  uint32_t bytes;     /* of this struct */
  uint32_t closed;    /* 1 once nothing more is published */
  uint64_t published; /* frames ever published; the newest is in slot (published - 1) % slots */
  uint8_t reserved[104];
} framelane_shm_publication;

/* A reader's entry, one for each slot. `sequence` is 2 n for the n-th published frame (n from 1) when the slot
 * holds it whole, and odd while it is being written. */
typedef struct framelane_shm_entry {
  uint64_t sequence;
  uint64_t frame_id;
  int64_t device_timestamp_ns;
  int64_t arrival_ns;   /* CLOCK_MONOTONIC, of the source's frame */
  int64_t published_ns; /* CLOCK_MONOTONIC */
  uint64_t result;      /* counts the channel's processed frames, without a gap */
  uint32_t width;
  uint32_t height;
  uint64_t bytes; /* from the slot's first to its last byte */
  uint64_t row_stride_bytes;
  uint64_t plane_stride_bytes;
  uint64_t reserved[6];
} framelane_shm_entry;

#ifdef __cplusplus
#define FRAMELANE_SHM_ASSERT(condition) static_assert(condition, #condition)
#else
#define FRAMELANE_SHM_ASSERT(condition) _Static_assert(condition, #condition)
#endif
FRAMELANE_SHM_ASSERT(sizeof(framelane_shm_header) == 16);
FRAMELANE_SHM_ASSERT(sizeof(framelane_shm_hello) == 128);
FRAMELANE_SHM_ASSERT(sizeof(framelane_shm_welcome) == 152);
FRAMELANE_SHM_ASSERT(sizeof(framelane_shm_refused) == 256);
FRAMELANE_SHM_ASSERT(sizeof(framelane_shm_control) == 256);
FRAMELANE_SHM_ASSERT(offsetof(framelane_shm_control, filled_count) == 64);
FRAMELANE_SHM_ASSERT(offsetof(framelane_shm_control, free_count) == 128);
FRAMELANE_SHM_ASSERT(sizeof(framelane_shm_descriptor) == 64);
FRAMELANE_SHM_ASSERT(sizeof(framelane_shm_publication) == 128);
FRAMELANE_SHM_ASSERT(sizeof(framelane_shm_entry) == 128);

#endif
