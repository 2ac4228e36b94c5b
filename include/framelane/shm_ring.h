/* Framelane's shared-memory ring, for clients: include this one, before others. docs/shm-ring.md. */
#ifndef FRAMELANE_SHM_RING_H
#define FRAMELANE_SHM_RING_H

#include "shm_producer.h"
#include "shm_reader.h"

#endif
