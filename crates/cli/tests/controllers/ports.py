"""Ports of every driver, with a peer each: what goes in comes out, counters and settings tell it.

    ports.py FOLDER NAMESPACE PEER     NAMESPACE: a path; PEER: the end of a cable `near`--PEER in this namespace
"""

import os
import socket
import subprocess

from session import *

bess = Bess()
folder, namespace, cable = sys.argv[1:4]
FRAME = bytes.fromhex("020000000002" "020000000001" "88b5") + bytes(range(50))


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def reflect(port):
    """What comes in by the port goes out again, with its addresses swapped."""
    bess.create_module("PortInc", "in", port=port)
    bess.create_module("MACSwap", "swap")
    bess.create_module("PortOut", "out", port=port)
    bess.chain("in", "swap", "out")


SWAPPED = FRAME[6:12] + FRAME[:6] + FRAME[12:]


def stats(port, received, sent):
    found = bess.request("GetPortStats", name=port)
    equal((found.inc.packets, found.inc.bytes, found.out.packets, found.out.bytes),
          (received, received * len(FRAME), sent, sent * len(FRAME)))
    assert found.timestamp > 0


def unix_sockets_are_ports():
    path = os.path.join(folder, "peer")
    made = bess.create_port("UnixSocketPort", "", path=path, confirm_connect=True)
    equal((made.name, made.mac_addr), ("port0", "00:00:00:00:00:00"))
    equal(bess.request("GetLinkStatus", name="port0").link_up, False)
    reflect("port0")
    for _ in range(2):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.settimeout(60)
        peer.connect(path)
        equal(peer.recv(100), b"yes\0")
        peer.send(FRAME)
        equal(peer.recv(2000), SWAPPED)
        equal(bess.request("GetLinkStatus", name="port0").link_up, True)
        peer.close()
        while bess.request("GetLinkStatus", name="port0").link_up:
            pass
    # "yes" is no frame.
    stats("port0", 2, 2)
    refused(EBUSY, "used by in", bess.request, "DestroyPort", name="port0")
    refused(EBUSY, "destroy that module first", bess.request, "ResetPorts")
    bess.request("ResetAll")
    assert not os.path.exists(path)


def devices_are_ports():
    """near--PEER: the port has one end, a packet socket the other."""
    made = bess.create_port("PCAPPort", "wire", dev="near")
    equal(made.mac_addr, mac_of("near"))
    refused(ENODEV, "no-such", bess.create_port, "PCAPPort", "other", dev="no-such")
    reflect("wire")
    peer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
    peer.bind((cable, 0))
    peer.settimeout(60)
    peer.send(FRAME)
    while (got := peer.recvfrom(2000))[1][2] == socket.PACKET_OUTGOING:
        pass
    equal(got[0], SWAPPED)
    found = bess.request("GetPortStats", name="wire")
    assert found.inc.packets >= 1 and found.out.packets >= 1, found
    conf = bess.request("GetPortConf", name="wire").conf
    equal((conf.mac_addr, conf.mtu, conf.admin_up), (mac_of("near"), 1500, True))
    bess.request("SetPortConf", name="wire", conf=dict(mtu=1500, admin_up=True))
    refused(EPERM, "device of the host", bess.request, "SetPortConf", name="wire", conf=dict(mtu=1400, admin_up=True))
    equal(bess.request("GetLinkStatus", name="wire").link_up, True)
    bess.request("ResetAll")


def mac_of(device, *where):
    return ip(*where, "-o", "link", "show", device).split("link/ether ")[1].split()[0]


def interfaces_in_namespaces_are_ports():
    made = bess.create_port("VPort", "guest", ifname="tide0", netns=namespace, ip_addrs=["10.9.0.1/24", "fd09::1/64"])
    listed = inside("-o", "addr", "show", "tide0")
    assert "10.9.0.1/24" in listed and "fd09::1/64" in listed, listed
    assert made.mac_addr in inside("-o", "link", "show", "tide0")
    bess.create_module("PortInc", "in", port="guest")
    bess.create_module("ArpResponder", "arp", ip="10.9.0.2", mac_addr="02:00:00:00:00:22")
    bess.create_module("PortOut", "out", port="guest")
    bess.chain("in", "arp", "out")
    # The kernel there asks for 10.9.0.2, and is answered.
    inside_python("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'?', ('10.9.0.2', 9))")
    while "02:00:00:00:00:22" not in inside("neigh", "show", "10.9.0.2"):
        pass
    assert bess.request("GetPortStats", name="guest").out.packets >= 1
    conf = dict(mac_addr="02:00:00:00:00:77", mtu=1400, admin_up=True)
    bess.request("SetPortConf", name="guest", conf=conf)
    equal(bess.request("GetPortConf", name="guest").conf, facts.message("PortConf")(**conf))
    assert "02:00:00:00:00:77" in inside("-o", "link", "show", "tide0")
    bess.request("SetPortConf", name="guest", conf=dict(admin_up=False))
    equal(bess.request("GetLinkStatus", name="guest").link_up, False)
    bess.request("ResetAll")
    assert "tide0" not in inside("-o", "link")
    refused(ENOENT, "no-such", bess.create_port, "VPort", "x", ifname="x", netns="no-such")
    refused(ENOTSUP, "loopback", bess.create_port, "VPort", "x", ifname="x", loopback=True)
    refused(EINVAL, "no address", bess.create_port, "VPort", "x", ifname="x", ip_addrs=["10.0.0.1"])


def inside(*words):
    return subprocess.run(["nsenter", "--net=" + namespace, "ip", *words], check=True, capture_output=True, text=True).stdout


def inside_python(code):
    subprocess.run(["nsenter", "--net=" + namespace, sys.executable, "-c", code], check=True)


def containers_are_found_by_docker():
    """The daemon asks `docker`; this one, first on its path, knows one container."""
    bess.create_port("VPort", "boxed", ifname="tide1", docker="box")
    assert "tide1" in inside("-o", "link")
    bess.request("DestroyPort", name="boxed")
    refused(ENOENT, "docker knows no running container other", bess.create_port, "VPort", "x", ifname="x", docker="other")


def device_strings_are_ports():
    socket_name = os.path.join(folder, "memif")
    bess.create_port("PMDPort", "server", vdev=f"net_memif0,role=server,socket={socket_name},socket-abstract=no,secret=tide")
    bess.create_port("PMDPort", "client", vdev=f"net_memif1,role=client,socket={socket_name},socket-abstract=no,secret=tide,rsize=9")
    bess.create_module("Source", "src")
    bess.create_module("PortOut", "out", port="client")
    bess.create_module("PortInc", "in", port="server")
    bess.create_module("Sink", "end")
    bess.chain("src", "out")
    bess.chain("in", "end")
    bess.await_arrival("end", 1000)
    assert bess.request("GetLinkStatus", name="server").link_up and bess.request("GetLinkStatus", name="client").link_up
    assert bess.request("GetPortStats", name="client").out.packets >= 1000
    bess.request("ResetAll")
    guest = os.path.join(folder, "guest")
    for queues in 1, 3:
        vdev = f"eth_vhost0,iface={guest},queues={queues}"
        bess.create_port("PMDPort", "guest", vdev=vdev, num_inc_q=queues, num_out_q=queues)
        assert os.path.exists(guest)
        equal(bess.request("GetLinkStatus", name="guest").link_up, False)
        bess.request("DestroyPort", name="guest")
        assert not os.path.exists(guest)
    capture = os.path.join(folder, "sent.pcap")
    bess.create_port("PMDPort", "file", vdev=f"net_pcap0,tx_pcap={capture}")
    tap = bess.create_port("PMDPort", "tap", vdev="net_tap0,iface=tide2")
    equal(tap.mac_addr, mac_of("tide2"))
    bess.create_port("PMDPort", "null", vdev="net_null0,size=200")
    for text, words in (("net_null0,length=3", "takes no length"), ("net_null0,size=0", "give 1 to"), ("net_mlx5", "one of net_null"),
                        ("net_vhost0", "give iface=PATH"), ("eth_vhost0,iface=x,queues=4", "give num_inc_q"),
                        ("net_memif0,role=both", "give client or server"), ("net_af_packet0", "give iface=NAME")):
        try:
            bess.create_port("PMDPort", "x", vdev=text)
            raise AssertionError(text)
        except Refused as error:
            assert words in error.text, error
    refused(ENOTSUP, "one queue", bess.create_port, "PMDPort", "x", vdev="net_null0", num_inc_q=2)
    refused(EEXIST, "there is a port null", bess.create_port, "PMDPort", "null", vdev="net_null0")
    equal([port.name for port in bess.request("ListPorts").ports], ["file", "null", "tap"])
    bess.request("ResetAll")
    assert "tide2" not in ip("-o", "link")


for step in (
    unix_sockets_are_ports, devices_are_ports, interfaces_in_namespaces_are_ports, containers_are_found_by_docker,
    device_strings_are_ports,
):
    step()
