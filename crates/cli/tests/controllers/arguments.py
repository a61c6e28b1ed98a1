"""Arguments that are right: for every class of modules that needs one, and for every command."""

import struct
import tempfile

ETHER = bytes.fromhex("020000000002" "020000000001" "0800")


def value(number):
    return {"value_int": number}


def packet(src="10.0.0.1", dst="10.1.0.1", sport=1000, dport=2000, proto=17):
    """An Ethernet frame with an IPv4 packet of 46 bytes."""
    octets = lambda address: bytes(int(part) for part in address.split("."))
    ip = bytearray(bytes.fromhex("4500002e00010000400000000000") [:8] + bytes([64, proto, 0, 0]) + octets(src) + octets(dst))
    total = sum(int.from_bytes(ip[n:n + 2], "big") for n in range(0, 20, 2))
    total = (total & 0xffff) + (total >> 16)
    ip[10:12] = (0xffff - ((total & 0xffff) + (total >> 16))).to_bytes(2, "big")
    ports = sport.to_bytes(2, "big") + dport.to_bytes(2, "big")
    return ETHER + bytes(ip) + ports + bytes.fromhex("001a0000") + bytes(18)


def capture(*frames):
    """A pcap file of frames, a millisecond apart; it goes with the test."""
    file = tempfile.NamedTemporaryFile(prefix="tidegate-controllers-", suffix=".pcap")
    file.write(struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
    for number, frame in enumerate(frames):
        file.write(struct.pack("<IIII", 0, number * 1_000_000, len(frame), len(frame)) + frame)
    file.flush()
    return file


CAPTURE = capture(packet(), packet(sport=7), packet(sport=9))

MADE = {
    "ACL": dict(rules=[dict(src_ip="10.0.0.0/8", dst_ip="10.1.0.0/16", drop=False)]),
    "ArpResponder": dict(ip="10.0.0.9", mac_addr="02:00:00:00:00:09"),
    "BPF": dict(filters=[dict(priority=2, filter="udp src port 1000", gate=1)]),
    "ExactMatch": dict(fields=[dict(offset=26, num_bytes=4), dict(offset=30, num_bytes=4)]),
    "FlowGen": dict(template=packet(), pps=1e6, flow_rate=100, flow_duration=1, arrival="exponential",
                    duration="pareto", quick_rampup=True, ip_src_range=16, port_dst_range=100),
    "GenericDecap": dict(bytes=14),
    "GenericEncap": dict(fields=[dict(size=2, value=value(7))]),
    "HashLB": dict(gates=[0, 1], mode="l4"),
    "Measure": dict(offset=60),
    "Impair": dict(loss=0.1, duplicate=0.1, reorder=0.1, delay_ns=1000, rate=10**9, seed=1),
    "LinkAggregation": dict(links=2, mode="active_backup"),
    "LoadBalancer": dict(gates=[0, 1], points=dict(flow=100, packet=10, byte=1), window_us=500, flows=1024),
    "MetadataTest": dict(write={"x": 4}),
    "NAT": dict(ext_addrs=[dict(ext_addr="192.0.2.1", port_ranges=[dict(begin=5000, end=6000)])]),
    "PortInc": dict(port="p"), "PortOut": dict(port="p"),
    "QueueInc": dict(port="q", qid=0), "QueueOut": dict(port="q", qid=0),
    "RandomUpdate": dict(fields=[dict(offset=26, size=4, min=1, max=9)]),
    "RandomSplit": dict(drop_rate=0.5, gates=[0, 1]),
    "RateLimiter": dict(field=dict(offset=26, num_bytes=4), flows=16, rates=[dict(flow=1, bits_per_second=10**6)]),
    "Reclass": dict(classes={"old": "new"}, others="old", size=64),
    "Replay": dict(path=CAPTURE.name, speed=2),
    "Replicate": dict(gates=[0, 1]), "RoundRobin": dict(gates=[0, 1], mode="packet"),
    "Rewrite": dict(templates=[packet()]),
    "SetMetadata": dict(attrs=[dict(name="x", size=4, value_int=9)]),
    "Split": dict(size=1, offset=0),
    "StaticNAT": dict(pairs=[dict(int_range=dict(start="10.0.0.0", end="10.0.0.255"),
                                  ext_range=dict(start="192.0.2.0", end="192.0.2.255"))]),
    "Update": dict(fields=[dict(offset=0, size=2, value=5)]),
    "UrlFilter": dict(blacklist=[dict(host="example.org", path="/private")]),
    "VLANPush": dict(tci=7),
    "WildcardMatch": dict(fields=[dict(offset=26, num_bytes=4)]),
    "WorkerSplit": dict(worker_gates={0: 0}),
}

# Commands that need an argument; in this order.
RUN = {
    "ACL": [("add", "ACLArg", dict(rules=[dict(dst_ip="10.2.0.0/16", dst_port=53, established=True)]))],
    "ArpResponder": [("add", "ArpResponderArg", dict(ip="10.0.0.10", mac_addr="2:0:0:0:0:a"))],
    "BPF": [("add", "BPFArg", dict(filters=[dict(priority=1, filter="ip6 or arp", gate=2)])),
            ("delete", "BPFArg", dict(filters=[dict(priority=1, filter="ip6 or arp", gate=2)]))],
    "DRR": [("set_quantum_size", "DRRQuantumArg", dict(quantum=1000)),
            ("set_max_flow_queue_size", "DRRMaxFlowQueueSizeArg", dict(max_queue_size=64))],
    "Dump": [("set_interval", "DumpArg", dict(interval=2.5))],
    "ExactMatch": [
        ("add", "ExactMatchCommandAddArg", dict(gate=3, fields=[value(1), {"value_bin": b"\x0a\x00\x00\x01"}])),
        ("set_default_gate", "ExactMatchCommandSetDefaultGateArg", dict(gate=1)),
        ("delete", "ExactMatchCommandDeleteArg", dict(fields=[value(1), value(0x0a000001)])),
        ("set_runtime_config", "ExactMatchConfig", dict(default_gate=2, rules=[dict(gate=1, fields=[value(4), value(5)])])),
    ],
    "FlowGen": [("update", "FlowGenArg", dict(template=packet(), pps=1000)), ("set_burst", "FlowGenCommandSetBurstArg", dict(burst=8))],
    "HashLB": [("set_mode", "HashLBCommandSetModeArg", dict(fields=[dict(offset=14, num_bytes=4)])),
               ("set_gates", "HashLBCommandSetGatesArg", dict(gates=[1, 2, 3]))],
    "IPLookup": [("add", "IPLookupCommandAddArg", dict(prefix="10.0.0.0", prefix_len=8, gate=1)),
                 ("add", "IPLookupCommandAddArg", dict(prefix="10.9.0.0", prefix_len=16, gate=8192)),
                 ("delete", "IPLookupCommandDeleteArg", dict(prefix="10.0.0.0", prefix_len=8))],
    "L2Forward": [
        ("add", "L2ForwardCommandAddArg", dict(entries=[dict(addr="02:00:00:00:00:01", gate=4)])),
        ("set_default_gate", "L2ForwardCommandSetDefaultGateArg", dict(gate=-1)),
        ("populate", "L2ForwardCommandPopulateArg", dict(base="02:00:00:00:01:00", count=100, gate_count=3)),
        ("lookup", "L2ForwardCommandLookupArg", dict(addrs=["02:00:00:00:00:01", "02:00:00:00:01:04"])),
        ("delete", "L2ForwardCommandDeleteArg", dict(addrs=["02:00:00:00:00:01"])),
    ],
    "LinkAggregation": [("set_links", "LinkAggregationCommandSetLinksArg", dict(up=[2]))],
    "LoadBalancer": [("set_gates", "LoadBalancerCommandSetGatesArg", dict(gates=[3, 4]))],
    "MPLSPop": [("set", "MplsPopArg", dict(remove_eth_header=True, next_eth_type=0x800))],
    "Measure": [("get_summary", "MeasureCommandGetSummaryArg", dict(clear=True, latency_percentiles=[50, 99, 99.9]))],
    "PortInc": [("set_burst", "PortIncCommandSetBurstArg", dict(burst=4))],
    "Queue": [("set_burst", "QueueCommandSetBurstArg", dict(burst=8)), ("set_size", "QueueCommandSetSizeArg", dict(size=256)),
              ("get_status", "QueueCommandGetStatusArg", {}), ("set_runtime_config", "QueueArg", dict(size=512))],
    "QueueInc": [("set_burst", "QueueIncCommandSetBurstArg", dict(burst=4))],
    "RandomSplit": [("set_droprate", "RandomSplitCommandSetDroprateArg", dict(drop_rate=0.1)),
                    ("set_gates", "RandomSplitCommandSetGatesArg", dict(gates=[1]))],
    "RateLimiter": [("set_rates", "RateLimiterCommandSetRatesArg", dict(rates=[dict(flow=2, bits_per_second=10**9)]))],
    "RandomUpdate": [("add", "RandomUpdateArg", dict(fields=[dict(offset=30, size=4, max=5)]))],
    "Replicate": [("set_gates", "ReplicateCommandSetGatesArg", dict(gates=[1, 2]))],
    "Rewrite": [("add", "RewriteArg", dict(templates=[packet(dport=1)]))],
    "RoundRobin": [("set_gates", "RoundRobinCommandSetGatesArg", dict(gates=[1])),
                   ("set_mode", "RoundRobinCommandSetModeArg", dict(mode="batch"))],
    "Source": [("set_pkt_size", "SourceCommandSetPktSizeArg", dict(pkt_size=128)), ("set_burst", "SourceCommandSetBurstArg", dict(burst=8))],
    "UrlFilter": [("add", "UrlFilterArg", dict(blacklist=[dict(host="example.net")])),
                  ("set_runtime_config", "UrlFilterConfig", dict(blacklist=[dict(host="example.com", path="/x")]))],
    "Update": [("add", "UpdateArg", dict(fields=[dict(offset=6, size=2, value=5)]))],
    "VLANPush": [("set_tci", "VLANPushArg", dict(tci=8))],
    "WildcardMatch": [
        ("add", "WildcardMatchCommandAddArg", dict(gate=3, priority=5, values=[value(0x0a000000)], masks=[value(0xff000000)])),
        ("set_default_gate", "WildcardMatchCommandSetDefaultGateArg", dict(gate=1)),
        ("delete", "WildcardMatchCommandDeleteArg", dict(values=[value(0x0a000000)], masks=[value(0xff000000)])),
        ("set_runtime_config", "WildcardMatchConfig",
         dict(default_gate=2, rules=[dict(gate=1, priority=-3, values=[value(4)], masks=[value(255)])])),
    ],
    "WorkerSplit": [("reset", "WorkerSplitArg", dict(worker_gates={0: 1, 1: 0}))],
}
