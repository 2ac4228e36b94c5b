"""Framelane's shared-memory ring from Python: fill a channel's ring, or read its results, without a copy.

Needs Python 3.8 or newer and numpy. docs/shm-ring.md describes the layout and what happens on failure.

    from framelane_shm import Producer
    with Producer("/tmp/framelane-script.sock", "mono8", 640, 480, fps=30) as producer:
        while True:
            with producer.frame() as frame:      # frame is None when no slot came free in time
                if frame is not None:
                    frame.pixels[:] = grab()

    from framelane_shm import Reader
    with Reader("/tmp/framelane-script-out.sock") as reader:
        for result in reader:
            show(result.pixels)                  # a copy of its own

A word of shared memory is written with one store and read with one load, in program order, which is what
x86-64 keeps; on other processors use the C header.
"""

import array
import contextlib
import mmap
import os
import platform
import select
import socket
import struct
import time

import numpy

__all__ = ["Producer", "Reader", "Frame", "Result", "ShmError", "ConnectTimeout", "Refused", "Closed"]

MAGIC = 0x4D534C46
VERSION = 1
HELLO, WELCOME, REFUSED = 1, 2, 3
PRODUCER, READER = 1, 2
BUSY = 1

_HEADER = struct.Struct("=IHHII")
_HELLO = struct.Struct("=IHHII32sIIII64s")
_WELCOME = struct.Struct("=IHHII32sIIQQQQQQIIQQQQII")
_REFUSED = struct.Struct("=IHHIII12x224s")
_ENTRY = struct.Struct("=QQqqqQIIQQQ48x")

# 64-bit words of the control block.
_FILLED_COUNT, _FREE_TAKEN, _BEGUN, _CANCELLED = 8, 9, 10, 11
_LOST = {"ring_full": 12, "transport": 13, "incomplete": 14}
_FREE_COUNT = 16

_TYPES = {"8": numpy.uint8, "16": numpy.uint16, "32f": numpy.float32}


class ShmError(Exception):
    """The engine cannot be reached or understood."""


class ConnectTimeout(ShmError):
    """Nobody listened, or answered, within `timeout`: the channel is not started yet, or compiles; try again."""


class Refused(ShmError):
    """The engine said why it does not serve this client."""


class Closed(ShmError):
    """The engine has closed the connection: the channel stopped, or dropped this client."""


def _sample_type(pixel_format):
    """'rgb32f_planar' -> (numpy.float32, 3, True)."""
    name, _, planar = pixel_format.partition("_")
    for prefix, samples in (("mono", 1), ("rgb", 3)):
        if name.startswith(prefix) and name[len(prefix):] in _TYPES:
            return _TYPES[name[len(prefix):]], samples, planar == "planar"
    raise ValueError(f"unknown pixel format {pixel_format!r}")


def _view(buffer, offset, pixel_format, width, height, row_stride, plane_stride):
    """(height, width), (height, width, 3) or, planar, (3, height, width)."""
    dtype, samples, planar = _sample_type(pixel_format)
    size = numpy.dtype(dtype).itemsize
    if planar:
        shape, strides = (samples, height, width), (plane_stride, row_stride, size)
    elif samples > 1:
        shape, strides = (height, width, samples), (row_stride, samples * size, size)
    else:
        shape, strides = (height, width), (row_stride, size)
    return numpy.ndarray(shape, dtype, buffer, offset, strides)


class _Welcome:
    def __init__(self, message):
        fields = _WELCOME.unpack_from(message)[5:]
        self.pixel_format = fields[0].split(b"\0")[0].decode()
        (self.width, self.height, self.row_stride, self.plane_stride, self.frame_bytes, self.file_bytes,
         self.slots_offset, self.slot_stride, self.slots, self.queue_entries, self.control_bytes, self.free_offset,
         self.filled_offset, self.entry_offset, self.entry_bytes, _) = fields[1:]


class _Busy(Refused):
    """The place is taken; it may come free."""


class _Connection:
    """One client of the engine; used by one thread."""

    def __init__(self, path, role, pixel_format, width, height, fps, client, timeout):
        if platform.machine() not in ("x86_64", "AMD64"):
            raise ShmError("this client relies on the memory order of x86-64")
        self._hello = _HELLO.pack(MAGIC, VERSION, HELLO, _HELLO.size, role, pixel_format.encode(), width, height,
                                  round(fps * 1000), 0, client.encode()[:63])
        self._address = b"\0" + path[1:].encode() if path.startswith("@") else path
        self._fds_wanted = 2 if role == PRODUCER else 1
        deadline = time.monotonic() + timeout
        busy = None
        while True:
            try:
                self._join(path, deadline)
                return
            except _Busy as error:
                busy = last = error
            except ConnectTimeout as error:
                raise busy or error
            except (FileNotFoundError, ConnectionRefusedError):
                last = ConnectTimeout(f"nobody listens at {path}")
            except Closed as error:
                last = error
            if time.monotonic() >= deadline:
                raise last
            time.sleep(0.05)  # nothing announces that somebody begins to listen, or that the place comes free

    def _join(self, path, deadline):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.connect(self._address)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._socket.send(self._hello)  # the answer tells whether it arrived
            if not self._readable(max(0.0, deadline - time.monotonic())):
                raise ConnectTimeout(f"the engine did not answer at {path}")
            message, fds = self._answer()
            try:
                self.welcome = self._understand(message, fds)
                self._map(fds)
            finally:
                for fd in fds:
                    os.close(fd)
        except BaseException:
            self._socket.close()
            raise

    def _readable(self, timeout):
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(None if timeout is None else timeout * 1000))

    def _answer(self):
        fds = array.array("i")
        room = socket.CMSG_SPACE(2 * fds.itemsize)
        try:
            message, rights, _, _ = self._socket.recvmsg(512, room, socket.MSG_CMSG_CLOEXEC)
        except (ConnectionResetError, BrokenPipeError):
            # An engine that refuses may close before it has read our HELLO: that error comes before its sentence.
            message, rights, _, _ = self._socket.recvmsg(512, room, socket.MSG_CMSG_CLOEXEC)
        for level, kind, data in rights:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        return message, list(fds)

    def _understand(self, message, fds):
        if not message:
            raise Closed("the engine closed the connection")
        if len(message) < _HEADER.size:
            raise ShmError("the answer is of another protocol")
        magic, version, kind, _, _ = _HEADER.unpack_from(message)
        if magic != MAGIC or version != VERSION:
            raise ShmError("the answer is of another protocol or version")
        if kind == REFUSED and len(message) >= _REFUSED.size:
            reason, text = _REFUSED.unpack_from(message)[5:]
            sentence = text.split(b"\0")[0].decode()
            raise _Busy(sentence) if reason == BUSY else Refused(sentence)
        if kind != WELCOME or len(message) < _WELCOME.size or len(fds) != self._fds_wanted:
            raise ShmError("the answer is no WELCOME")
        return _Welcome(message)

    def _map(self, fds):
        raise NotImplementedError

    def _wait_bell(self, timeout):
        """Waits for a bell: False after the time-out. None waits for ever."""
        if not self._readable(timeout):
            return False
        while True:
            try:
                bell = self._socket.recv(2, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return True
            except (ConnectionResetError, BrokenPipeError):
                bell = b""
            if len(bell) != 1:
                raise Closed("the engine closed the connection")

    def _ring_bell(self):
        try:
            self._socket.send(b"\1", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except BlockingIOError:
            pass  # full: it has bells to wake up for
        except (BrokenPipeError, ConnectionResetError):
            raise Closed("the engine closed the connection") from None

    def close(self):
        """Ends the connection. Arrays that look into shared memory keep it mapped until they are gone."""
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Frame:
    """A slot to fill. pixels, width, height, frame_id and device_timestamp_ns may be changed before submit()."""

    def __init__(self, slot, data, pixels, frame_id, width, height, frame_bytes):
        self.slot = slot
        self.data = data  # the whole slot as bytes
        self.pixels = pixels  # the full frame
        self.frame_id = frame_id
        self.device_timestamp_ns = 0
        self.width = width
        self.height = height
        self.bytes = frame_bytes


class Producer(_Connection):
    """Fills a channel's ring. width and height: the most that a frame will have.

    Waits up to `timeout` seconds for the channel, then raises ConnectTimeout. Every call may raise Closed.
    """

    def __init__(self, path, pixel_format, width, height, fps=0.0, client="", timeout=10.0):
        _sample_type(pixel_format)
        self._taken = 0
        self._kept = []
        self.next_frame_id = 1
        super().__init__(path, PRODUCER, pixel_format, width, height, fps, client, timeout)

    def _map(self, fds):
        w = self.welcome
        self._ring = mmap.mmap(fds[0], w.file_bytes)
        control = mmap.mmap(fds[1], w.control_bytes)
        self._words = numpy.frombuffer(control, numpy.uint64)
        self._free = numpy.frombuffer(control, numpy.uint32, w.queue_entries, w.free_offset)
        self._filled = numpy.frombuffer(
            control, numpy.uint64, w.queue_entries * w.entry_bytes // 8, w.filled_offset
        ).reshape(w.queue_entries, w.entry_bytes // 8)

    def _add(self, word, more=1):
        self._words[word] = int(self._words[word]) + more

    def acquire(self, timeout=1.0):
        """A slot to fill, or None when none came free in `timeout` seconds (None: waits for ever)."""
        w = self.welcome
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._kept and int(self._words[_FREE_COUNT]) == self._taken:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._wait_bell(left) and left == 0:
                return None
        if self._kept:
            slot = self._kept.pop()
        else:
            slot = int(self._free[self._taken % w.queue_entries])
            self._taken += 1
            self._words[_FREE_TAKEN] = self._taken
        offset = w.slots_offset + slot * w.slot_stride
        data = numpy.frombuffer(self._ring, numpy.uint8, w.slot_stride, offset)
        pixels = _view(self._ring, offset, w.pixel_format, w.width, w.height, w.row_stride, w.plane_stride)
        frame = Frame(slot, data, pixels, self.next_frame_id, w.width, w.height, w.frame_bytes)
        self.next_frame_id += 1
        self._add(_BEGUN)
        return frame

    def submit(self, frame):
        """Hands the frame over; its slot, and frame.pixels with it, is the engine's from now on."""
        count = int(self._words[_FILLED_COUNT])
        losses = sum(int(self._words[word]) for word in _LOST.values())
        size = frame.width | frame.height << 32
        self._filled[count % self.welcome.queue_entries] = (
            frame.slot, frame.frame_id, frame.device_timestamp_ns & (1 << 64) - 1, time.monotonic_ns(), size,
            frame.bytes, losses, 0)
        self.next_frame_id = max(self.next_frame_id, frame.frame_id + 1)
        self._words[_FILLED_COUNT] = count + 1
        self._ring_bell()

    def cancel(self, frame):
        """Keeps the slot for the next frame; nothing is counted."""
        self._kept.append(frame.slot)
        self._add(_CANCELLED)
        if frame.frame_id + 1 == self.next_frame_id:
            self.next_frame_id = frame.frame_id

    def lost(self, reason, frames=1):
        """Counts frames that the device delivered and that will not come: ring_full, transport or incomplete."""
        self.next_frame_id += frames
        self._add(_LOST[reason], frames)

    @contextlib.contextmanager
    def frame(self, timeout=1.0):
        """acquire, then submit; cancel when the block raises. None counts as lost for the full ring."""
        frame = self.acquire(timeout)
        if frame is None:
            self.lost("ring_full")
            yield None
            return
        try:
            yield frame
        except BaseException:
            self.cancel(frame)
            raise
        self.submit(frame)


class Result:
    """One result. pixels is a copy, or with copy=False a view that Reader.intact() has to be asked about."""

    def __init__(self, entry, pixels, missed):
        (self.sequence, self.frame_id, self.device_timestamp_ns, self.arrival_ns, self.published_ns, self.result,
         self.width, self.height, self.bytes, self.row_stride, self.plane_stride) = entry
        self.pixels = pixels
        self.missed = missed


class Reader(_Connection):
    """Takes the newest result of a channel's shm sink; iterating ends when the engine closes.

    Waits up to `timeout` seconds for the channel, then raises ConnectTimeout. read() may raise Closed.
    """

    def __init__(self, path, client="", timeout=10.0):
        super().__init__(path, READER, "", 0, 0, 0.0, client, timeout)

    def _map(self, fds):
        self._file = mmap.mmap(fds[0], self.welcome.file_bytes, prot=mmap.PROT_READ)
        self._words = numpy.frombuffer(self._file, numpy.uint64, self.welcome.slots_offset // 8)
        self._seen = max(0, self._published() - 1)  # what was published last is still news

    def _published(self):
        return int(self._words[2])

    def _entry_offset(self, number):
        return self.welcome.entry_offset + (number - 1) % self.welcome.slots * self.welcome.entry_bytes

    def _holds(self, number):
        return int(self._words[self._entry_offset(number) // 8]) == 2 * number

    def intact(self, result):
        """Whether what was read of result.pixels until now is whole."""
        return self._holds(result.sequence // 2)

    def read(self, timeout=None, copy=True):
        """The newest result that is newer than the last, or None after `timeout` seconds."""
        w = self.welcome
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            number = self._published()
            if number == self._seen:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not self._wait_bell(left) and left == 0:
                    return None
                continue
            entry = _ENTRY.unpack_from(self._file, self._entry_offset(number))
            if entry[0] != 2 * number or not self._holds(number):
                continue
            offset = w.slots_offset + (number - 1) % w.slots * w.slot_stride
            pixels = _view(self._file, offset, w.pixel_format, entry[6], entry[7], entry[9], entry[10])
            if copy:
                pixels = pixels.copy()
                if not self._holds(number):
                    continue  # overwritten meanwhile; a newer one is there
            missed = number - self._seen - 1
            self._seen = number
            return Result(entry, pixels, missed)

    def __iter__(self):
        try:
            while True:
                yield self.read()
        except Closed:
            return
