"""Tests of framelane_shm against the engine's own code: FRAMELANE_SHM_PEER names the built test peer."""

import json
import os
import socket
import subprocess
import tempfile
import unittest

import numpy

import framelane_shm
from framelane_shm import Closed, ConnectTimeout, Producer, Reader, Refused

PEER = os.environ["FRAMELANE_SHM_PEER"]


class WithPeer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="framelane-shm-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "ring.sock")

    def start(self, kind, frames):
        peer = subprocess.Popen(
            [PEER, kind, self.path, str(frames)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(peer.wait)
        self.addCleanup(peer.stdout.close)
        self.addCleanup(peer.stdin.close)
        self.addCleanup(peer.kill)
        return peer

    def lines(self, peer):
        return [json.loads(line) for line in peer.stdout]


class ProducerTest(WithPeer):
    def test_frames_arrive_as_they_were_filled(self):
        peer = self.start("source", 40)
        with Producer(self.path, "rgb16", 31, 7, fps=50, client="python", timeout=20) as producer:
            sums = []
            for number in range(1, 41):
                frame = producer.acquire(timeout=20)
                self.assertEqual(frame.pixels.shape, (7, 31, 3))
                frame.pixels[:] = number
                frame.pixels[6, 30, 2] = 0x0201
                frame.device_timestamp_ns = -number
                sums.append(int(frame.data[: frame.bytes].sum(dtype=numpy.uint64)))
                producer.submit(frame)
        *frames, last = self.lines(peer)
        self.assertEqual([frame["id"] for frame in frames], list(range(1, 41)))
        self.assertEqual([frame["timestamp"] for frame in frames], [-number for number in range(1, 41)])
        self.assertEqual([frame["sum"] for frame in frames], sums)
        self.assertEqual(last["format"], "rgb16 31x7")
        self.assertEqual((last["received"], last["id_gap"], last["incomplete"]), (40, 0, 0))
        self.assertEqual(last["error"], "source_lost")

    def test_losses_short_frames_and_an_exception_are_counted_as_what_they_are(self):
        peer = self.start("source", 3)
        with Producer(self.path, "rgb32f_planar", 8, 8, timeout=20) as producer:
            with producer.frame(timeout=20) as frame:
                self.assertEqual(frame.pixels.shape, (3, 8, 8))
                frame.pixels[:] = 1.0
            producer.lost("ring_full", 2)
            with self.assertRaises(KeyError):
                with producer.frame(timeout=20):
                    raise KeyError
            frame = producer.acquire(timeout=20)
            frame.height = 5
            producer.submit(frame)
            frame = producer.acquire(timeout=20)
            frame.frame_id += 3
            producer.submit(frame)
        *frames, last = self.lines(peer)
        self.assertEqual([frame["id"] for frame in frames], [1, 4, 8])
        self.assertEqual([frame["height"] for frame in frames], [8, 5, 8])
        self.assertEqual((last["received"], last["ring_full"], last["id_gap"], last["incomplete"]), (3, 2, 3, 0))

    def test_a_frame_in_hand_at_the_end_is_incomplete(self):
        peer = self.start("source", 0)
        producer = Producer(self.path, "mono8", 8, 8, timeout=20)
        self.assertIsNotNone(producer.acquire(timeout=20))
        producer.close()
        (last,) = self.lines(peer)
        self.assertEqual((last["received"], last["incomplete"]), (0, 1))

    def test_the_engine_going_away_is_said(self):
        peer = self.start("source", 1000)
        with Producer(self.path, "mono8", 8, 8, timeout=20) as producer:
            peer.kill()
            with self.assertRaises(Closed):
                while True:
                    frame = producer.acquire(timeout=20)
                    producer.submit(frame)

    def test_refusals_have_their_sentence(self):
        with self.assertRaises(ValueError):
            Producer(self.path, "mono9", 8, 8)
        with self.assertRaisesRegex(ConnectTimeout, "nobody listens"):
            Producer(self.path, "mono8", 8, 8, timeout=0)
        self.start("source", 1)
        with self.assertRaisesRegex(Refused, "70000x8"):
            Producer(self.path, "mono8", 70000, 8, timeout=20)
        with Producer(self.path, "mono8", 8, 8, timeout=20):
            with self.assertRaisesRegex(Refused, "another producer"):
                Producer(self.path, "mono8", 8, 8, timeout=0.2)


    def test_an_engine_that_does_not_answer_in_time_is_said(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.path)
            listener.listen()
            with self.assertRaisesRegex(ConnectTimeout, "did not answer"):
                Producer(self.path, "mono8", 8, 8, timeout=0.1)


class ReaderTest(WithPeer):
    def publish(self, peer, frames=1):
        peer.stdin.write("\n" * frames)
        peer.stdin.flush()

    def test_each_result_comes_and_the_end_ends_the_iteration(self):
        peer = self.start("sink", 20)
        with Reader(self.path, timeout=20) as reader:
            self.assertEqual(reader.welcome.pixel_format, "mono16")
            for number in range(1, 21):
                self.publish(peer)
                result = reader.read(timeout=20)
                self.assertEqual((result.result, result.frame_id, result.missed), (number, number, 0))
                numpy.testing.assert_array_equal(result.pixels, numpy.full((10, 20), number, numpy.uint16))
            self.assertIsNone(reader.read(timeout=0.01))
            peer.stdin.close()
            self.assertEqual(list(reader), [])

    def test_a_slow_reader_gets_the_newest_and_its_old_view_is_not_intact(self):
        peer = self.start("sink", 50)
        with Reader(self.path, timeout=20) as reader:
            self.publish(peer)
            first = reader.read(timeout=20, copy=False)
            self.assertTrue(reader.intact(first))
            self.publish(peer, 49)
            taken, missed = 1, first.missed
            while True:
                result = reader.read(timeout=20)
                taken, missed = taken + 1, missed + result.missed
                if result.result == 50:
                    break
            self.assertEqual(taken + missed, 50)
            self.assertFalse(reader.intact(first))
            with self.assertRaises(ValueError):
                first.pixels[0, 0] = 1

    def test_a_producer_is_refused(self):
        self.start("sink", 1)
        with self.assertRaisesRegex(Refused, "readers only"):
            Producer(self.path, "mono8", 8, 8, timeout=20)


class LayoutTest(unittest.TestCase):
    def test_messages_have_the_sizes_of_the_c_header(self):
        sizes = [framelane_shm._HELLO.size, framelane_shm._WELCOME.size, framelane_shm._REFUSED.size]
        self.assertEqual(sizes, [128, 152, 256])
        self.assertEqual(framelane_shm._ENTRY.size, 128)


if __name__ == "__main__":
    unittest.main()
