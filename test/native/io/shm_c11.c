/* The clients' headers stand alone as strict C11. */
#include "framelane/shm_ring.h"

int framelane_shm_c11_push(const char *path, unsigned frames);

/* Fills `frames` frames of 16x8 mono8 with their id; 0 or a negative errno. */
int framelane_shm_c11_push(const char *path, unsigned frames) {
  framelane_shm_producer producer;
  int code = framelane_shm_open(&producer, path, "mono8", 16, 8, 25.0, "c11", 20000);
  for (unsigned i = 0; code == 0 && i < frames; ++i) {
    framelane_shm_frame frame;
    code = framelane_shm_acquire(&producer, 20000, &frame);
    if (code != 0) break;
    memset(frame.data, (int)frame.frame_id, frame.bytes);
    code = framelane_shm_submit(&producer, &frame);
  }
  framelane_shm_close(&producer);
  return code;
}
