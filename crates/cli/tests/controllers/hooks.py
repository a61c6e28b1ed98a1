"""Hooks at gates: counters that are set back, captures through FIFOs, readers that come late, go away or never read.

    hooks.py FOLDER
"""

import os
import struct

from session import *

bess = Bess()
folder = pathlib.Path(sys.argv[1])


def fifo(name):
    path = folder / name
    os.mkfifo(path)
    return str(path)


def build():
    bess.request("ResetAll")
    bess.create_module("Source", "src")
    bess.create_module("SetMetadata", "mark", attrs=[dict(name="tide", size=2, value_bin=b"\x12\x34")])
    bess.create_module("MetadataTest", "test", read={"tide": 2})
    bess.create_module("Sink", "end")
    bess.chain("src", "mark", "test", "end")
    bess.await_arrival("end")


def gate(module):
    return bess.info(module).ogates[0]


def gates_are_tracked_from_the_start():
    build()
    hooks = bess.request("ListGateHooks").hooks
    equal([(hook.class_name, hook.module_name, hook.ogate) for hook in hooks],
          [("Track", name, 0) for name in ("mark", "src", "test")])
    assert gate("src").pkts > 0 and gate("src").cnt > 0 and gate("src").timestamp > 0
    equal(gate("src").bytes, 0)


def counting_starts_again():
    bess.request("PauseAll")
    before = gate("src")
    assert before.pkts > 0
    reset = dict(class_name="Track", module_name="src", ogate=0)
    bess.request("GateHookCommand", hook=reset, cmd="reset")
    equal((gate("src").pkts, gate("src").cnt), (0, 0))
    assert gate("mark").pkts > 0
    bess.request("GateHookCommand", hook=dict(class_name="Track", ogate=-1), cmd="reset")
    equal((gate("mark").pkts, gate("test").pkts), (0, 0))
    bess.resume_all()
    refused(ENOENT, "ghost", bess.request, "GateHookCommand", hook=dict(class_name="Track", module_name="ghost", ogate=0), cmd="reset")


def bytes_are_counted_where_they_are_asked_for():
    bess.hook("Track", facts.any("TrackArg", bits=True), module="src", gate=0)
    while gate("src").bytes == 0:
        pass
    bess.request("PauseAll")
    bess.request("GateHookCommand", hook=dict(class_name="Track", module_name="src", ogate=0), cmd="reset")
    bess.resume_all()
    bess.await_arrival("end", 1000)
    bess.request("PauseAll")
    equal(gate("src").bytes, gate("src").pkts * 60)
    bess.resume_all()
    bess.hook("Track", enable=False, module="src", gate=0)
    equal((gate("src").pkts, gate("src").bytes, list(gate("src").gatehooks)), (0, 0, []))
    refused(ENOENT, "no such hook", bess.hook, "Track", enable=False, module="src", gate=0)
    bess.hook("Track", facts.any("TrackArg"), module="src", gate=0)
    while gate("src").pkts == 0:
        pass


def gates_without_default_hooks_are_not_tracked():
    bess.request("DisconnectModules", name="test", ogate=0)
    bess.connect("test", "end", skip_default_hooks=True)
    bess.await_arrival("end")
    equal(gate("test").pkts, 0)
    assert "test" not in [hook.module_name for hook in bess.request("ListGateHooks").hooks]


class Reader:
    """Reads a FIFO."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(self.fd, True)

    def take(self, count):
        got = b""
        while len(got) < count:
            piece = os.read(self.fd, count - len(got))
            assert piece, "the FIFO was closed"
            got += piece
        return got

    def close(self):
        os.close(self.fd)


def pcap_head(reader):
    magic, major, minor, _, _, snap, link = struct.unpack("<IHHIIII", reader.take(24))
    equal((magic, major, minor, link), (0xA1B23C4D, 2, 4, 1))
    assert snap >= 1514


def pcap_record(reader):
    seconds, nanos, kept, length = struct.unpack("<IIII", reader.take(16))
    assert seconds > 1_600_000_000 and nanos < 1_000_000_000 and kept == length
    return reader.take(kept)


def packets_go_to_a_reader():
    build()
    path = fifo("a")
    refused(EIO, "is anybody reading it", bess.hook, "TcpDump", facts.any("TcpdumpArg", fifo=path), module="end", direction="in", gate=0)
    reader = Reader(path)
    name = bess.hook("TcpDump", facts.any("TcpdumpArg", fifo=path), module="end", direction="in", gate=0)
    equal(name, "tcpdump0")
    pcap_head(reader)
    equal([len(pcap_record(reader)) for _ in range(100)], [60] * 100)
    refused(EEXIST, "already", bess.hook, "TcpDump", facts.any("TcpdumpArg", fifo=path), module="end", direction="in", gate=0)
    equal([hook.class_name for hook in bess.info("end").igates[0].gatehooks], ["TcpDump"])
    bess.create_module("Bypass", "new")
    [pcap_record(reader) for _ in range(10_000)]
    bess.hook("TcpDump", enable=False, module="end", direction="in", gate=0)
    reader.close()
    refused(ENOENT, "no such hook", bess.hook, "TcpDump", enable=False, module="end", direction="in", gate=0)


def a_reader_that_goes_or_never_reads_harms_nothing():
    path = fifo("b")
    reader = Reader(path)
    bess.hook("TcpDump", facts.any("TcpdumpArg", fifo=path), module="src", gate=0)
    bess.await_arrival("end", 100_000)
    reader.close()
    bess.await_arrival("end", 100_000)
    bess.hook("TcpDump", enable=False, module="src", gate=0)


def a_reader_may_come_late_and_come_again():
    path = fifo("c")
    arg = facts.any("TcpdumpArg", fifo=path, defer=True, reconnect=True)
    bess.hook("TcpDump", arg, module="src", gate=0)
    bess.await_arrival("end")
    for _ in range(3):
        reader = open_reader(path)
        pcap_head(reader)
        [pcap_record(reader) for _ in range(10)]
        reader.close()
        # The next one begins anew when the daemon has noticed that this one has gone.
        bess.await_arrival("end", 10_000)
    bess.hook("TcpDump", enable=False, module="src", gate=0)


def open_reader(path):
    """A reader that waits for the writer."""
    reader = Reader.__new__(Reader)
    reader.fd = os.open(path, os.O_RDONLY)
    return reader


def block(reader):
    kind, length = struct.unpack("<II", reader.take(8))
    body = reader.take(length - 8)
    equal(struct.unpack("<I", body[-4:])[0], length)
    return kind, body[:-4]


def attributes_go_along_in_pcapng():
    path = fifo("d")
    reader = Reader(path)
    bess.hook("PcapNg", facts.any("PcapngArg", fifo=path), module="test", direction="in", gate=0)
    equal([block(reader)[0] for _ in range(2)], [0x0A0D0D0A, 1])
    for round in range(2):
        for _ in range(50):
            kind, body = block(reader)
            interface, _, _, kept, length = struct.unpack("<IIIII", body[:20])
            equal((kind, interface, kept, length), (6, 0, 60, 60))
            option, size = struct.unpack("<HH", body[80:84])
            equal((option, body[84:84 + size]), (1, b"tide=1234"))
        # Another attribute moves it, and the capture goes on with what is there.
        bess.create_module("SetMetadata", f"more{round}", attrs=[dict(name=f"a{round}", size=8, value_int=1)])
    bess.hook("PcapNg", enable=False, module="test", direction="in", gate=0)
    reader.close()


def what_is_no_fifo_is_refused():
    refused(EINVAL, "no FIFO", bess.hook, "TcpDump", facts.any("TcpdumpArg", fifo=str(folder)), module="src", gate=0)
    refused(EIO, "cannot write", bess.hook, "PcapNg", facts.any("PcapngArg", fifo="/no/such"), module="src", gate=0)
    path = fifo("e")
    reader = Reader(path)
    refused(EINVAL, "one gate", bess.hook, "TcpDump", facts.any("TcpdumpArg", fifo=path), gate=-1)
    reader.close()
    for hook in ("setup_metadata", "setup_taskgraph"):
        bess.request("ConfigureResumeHook", hook_name=hook, enable=True)
    refused(ENOTSUP, "at every change", bess.request, "ConfigureResumeHook", hook_name="setup_metadata", enable=False)


for step in (
    gates_are_tracked_from_the_start, counting_starts_again, bytes_are_counted_where_they_are_asked_for,
    gates_without_default_hooks_are_not_tracked, packets_go_to_a_reader, a_reader_that_goes_or_never_reads_harms_nothing,
    a_reader_may_come_late_and_come_again, attributes_go_along_in_pcapng, what_is_no_fifo_is_refused,
):
    step()
bess.request("ResetAll")
