"""What is done to TCP between two kernels: requests refused, large frames cut and put together.

    tcp.py NAMESPACE     a path: the other kernel's

        here 10.9.N.1 --- device `near` --- the pipeline --- device `far` --- 10.9.N.2 in NAMESPACE
"""

import hashlib
import http.server
import socket
import subprocess
import threading

from session import *

bess = Bess()
namespace = sys.argv[1]
STREAM = bytes(range(251)) * 40_000


def there(*command):
    """Runs a program in the other namespace: what it says."""
    return subprocess.run(["nsenter", f"--net={namespace}", *command], check=True, capture_output=True).stdout


def cable(driver, number):
    for name, end, place in (("near", 1, {}), ("far", 2, dict(netns=namespace))):
        bess.create_port(driver, name, ifname=name, ip_addrs=[f"10.9.{number}.{end}/24"], **place)
        bess.create_module("PortInc", name + "_in", port=name)
        bess.create_module("PortOut", name + "_out", port=name)


class Site(http.server.BaseHTTPRequestHandler):
    """Answers every path with itself."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.path)))
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *_):
        pass


def requests_for_what_is_on_the_list_are_refused():
    cable("VPort", 1)
    bess.create_module("UrlFilter", "filter", blacklist=[dict(host="10.9.1.1", path="/private")])
    bess.chain("far_in", "filter", "near_out")
    bess.connect("near_in", "filter", igate=1)
    bess.connect("filter", "far_out", ogate=1)
    server = http.server.ThreadingHTTPServer(("10.9.1.1", 80), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def ask(path):
        write = ["--silent", "--show-error", "--output", "-", "--write-out", " %{http_code}", "--max-time", "120"]
        return there("curl", *write, f"http://10.9.1.1{path}").decode()

    equal(ask("/public"), "/public 200")
    equal(ask("/private/x"), "Forbidden\n 403")
    bess.command("filter", "set_runtime_config", "UrlFilterConfig", blacklist=[dict(host="10.9.1.1", path="/public")])
    equal(ask("/private/x"), "/private/x 200")
    equal(ask("/public"), "Forbidden\n 403")
    bess.command("filter", "clear")
    equal(ask("/public"), "/public 200")
    server.shutdown()
    server.server_close()
    bess.request("ResetAll")


def large_frames_are_cut_and_put_together():
    """far -> Tso -> segments -> Lro -> near, and back as it comes."""
    cable("BulkTapPort", 2)
    bess.create_module("Tso", "tso", mtu=1400)
    bess.create_module("Lro", "lro", hold_ns=200_000)
    bess.chain("far_in", "tso", "lro", "near_out")
    bess.connect("near_in", "far_out")
    server = socket.create_server(("10.9.2.1", 7))
    server.settimeout(120)
    sender = threading.Thread(target=there, args=(sys.executable, "-c", SEND))
    sender.start()
    peer, _ = server.accept()
    peer.settimeout(120)
    received = hashlib.sha256()
    while part := peer.recv(1 << 20):
        received.update(part)
    sender.join()
    equal(received.hexdigest(), hashlib.sha256(STREAM).hexdigest())
    large, segments, joined = (bess.arrived(name) for name in ("tso", "lro", "near_out"))
    assert segments > len(STREAM) // 1400 and large * 4 < segments and joined * 2 < segments, (large, segments, joined)
    refused(EINVAL, "MTU", bess.create_module, "Tso", mtu=100)
    refused(EINVAL, "flows", bess.create_module, "Lro", flow_count=1 << 20)
    bess.request("ResetAll")


SEND = """
import socket
peer = socket.create_connection(("10.9.2.1", 7), timeout=120)
peer.sendall(bytes(range(251)) * 40_000)
"""

requests_for_what_is_on_the_list_are_refused()
large_frames_are_cut_and_put_together()
