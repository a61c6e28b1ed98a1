"""A client that ends when it is killed, and not before.

    dying.py calls|paused|watch|streams|silent

`calls` changes the graph from many threads, `paused` the same while it has all paused; `watch` follows counters without reading
them; `streams` holds requests that never end; `silent` connects and says nothing, or half a word.
"""

import socket
import struct
import threading
import time

from session import *

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_HEADERS = 4
STREAMS = 40


def change_without_end():
    bess = Bess()
    while True:
        name = bess.create_module("Bypass")
        bess.connect(name, "end")
        bess.request("DestroyModule", name=name)


def watch_without_reading():
    channel = grpc.insecure_channel("127.0.0.1:10514")
    watch = channel.unary_stream("/tidegate.v1.Control/Watch", request_serializer=bytes, response_deserializer=bytes)
    # Field 1: every 100 ms.
    return [next(watch(b"\x08\x64")) and watch(b"\x08\x64") for _ in range(8)]


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def field(name, value):
    """A header, literal and not indexed (RFC 7541 section 6.2.2)."""
    return b"".join([b"\0", bytes([len(name)]), name, bytes([len(value)]), value])


def call_that_does_not_end(stream, path):
    head = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"localhost"),
            (b"content-type", b"application/grpc"), (b"te", b"trailers")]
    # A message of a thousand bytes is announced, of which ten come.
    begun = struct.pack(">BI", 0, 1000) + bytes(10)
    return frame(HEADERS, END_HEADERS, stream, b"".join(field(*one) for one in head)) + frame(DATA, 0, stream, begun)


def open_streams():
    peer = socket.create_connection(("127.0.0.1", 10514))
    peer.sendall(PREFACE + frame(SETTINGS, 0, 0))
    for number in range(STREAMS):
        path = b"/bess.pb.BESSControl/" + (b"CreateModule", b"PauseAll", b"ModuleCommand")[number % 3]
        peer.sendall(call_that_does_not_end(2 * number + 1, path))
    return peer


def connect_silently():
    said = [b"", PREFACE[:9], PREFACE, PREFACE + frame(SETTINGS, 0, 0), PREFACE + frame(HEADERS, 0, 1, b"\0\x05")]
    return [speak(one) for one in said for _ in range(8)]


def speak(text):
    peer = socket.create_connection(("127.0.0.1", 10514))
    peer.sendall(text)
    return peer


mode = sys.argv[1]
held = []
if mode == "paused":
    Bess().request("PauseAll")
if mode in ("calls", "paused"):
    for _ in range(8):
        threading.Thread(target=change_without_end, daemon=True).start()
elif mode == "watch":
    held = watch_without_reading()
elif mode == "streams":
    held = [open_streams() for _ in range(4)]
elif mode == "silent":
    held = connect_silently()
print("under way", flush=True)
while True:
    time.sleep(60)
