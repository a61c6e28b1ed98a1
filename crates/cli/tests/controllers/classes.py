"""Every class of modules that the protocol names: made, commanded, run. What goes in comes out as its table says."""

from session import *

bess = Bess()

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


MADE = {
    "ACL": dict(rules=[dict(src_ip="10.0.0.0/8", dst_ip="10.1.0.0/16", drop=False)]),
    "ArpResponder": dict(ip="10.0.0.9", mac_addr="02:00:00:00:00:09"),
    "ExactMatch": dict(fields=[dict(offset=26, num_bytes=4), dict(offset=30, num_bytes=4)]),
    "FlowGen": dict(template=packet(), pps=1e6, flow_rate=100, flow_duration=1, arrival="exponential",
                    duration="pareto", quick_rampup=True, ip_src_range=16, port_dst_range=100),
    "GenericDecap": dict(bytes=14),
    "GenericEncap": dict(fields=[dict(size=2, value=value(7))]),
    "HashLB": dict(gates=[0, 1], mode="l4"),
    "Measure": dict(offset=60),
    "MetadataTest": dict(write={"x": 4}),
    "NAT": dict(ext_addrs=[dict(ext_addr="192.0.2.1", port_ranges=[dict(begin=5000, end=6000)])]),
    "PortInc": dict(port="p"), "PortOut": dict(port="p"),
    "QueueInc": dict(port="q", qid=0), "QueueOut": dict(port="q", qid=0),
    "RandomUpdate": dict(fields=[dict(offset=26, size=4, min=1, max=9)]),
    "RandomSplit": dict(drop_rate=0.5, gates=[0, 1]),
    "Replicate": dict(gates=[0, 1]), "RoundRobin": dict(gates=[0, 1], mode="packet"),
    "Rewrite": dict(templates=[packet()]),
    "SetMetadata": dict(attrs=[dict(name="x", size=4, value_int=9)]),
    "Split": dict(size=1, offset=0),
    "StaticNAT": dict(pairs=[dict(int_range=dict(start="10.0.0.0", end="10.0.0.255"),
                                  ext_range=dict(start="192.0.2.0", end="192.0.2.255"))]),
    "Update": dict(fields=[dict(offset=0, size=2, value=5)]),
    "VLANPush": dict(tci=7),
    "WildcardMatch": dict(fields=[dict(offset=26, num_bytes=4)]),
    "WorkerSplit": dict(worker_gates={0: 0}),
}

# Commands that need an argument; in this order.
RUN = {
    "ACL": [("add", "ACLArg", dict(rules=[dict(dst_ip="10.2.0.0/16", dst_port=53, established=True)]))],
    "ArpResponder": [("add", "ArpResponderArg", dict(ip="10.0.0.10", mac_addr="2:0:0:0:0:a"))],
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
    "MPLSPop": [("set", "MplsPopArg", dict(remove_eth_header=True, next_eth_type=0x800))],
    "Measure": [("get_summary", "MeasureCommandGetSummaryArg", dict(clear=True, latency_percentiles=[50, 99, 99.9]))],
    "PortInc": [("set_burst", "PortIncCommandSetBurstArg", dict(burst=4))],
    "Queue": [("set_burst", "QueueCommandSetBurstArg", dict(burst=8)), ("set_size", "QueueCommandSetSizeArg", dict(size=256)),
              ("get_status", "QueueCommandGetStatusArg", {}), ("set_runtime_config", "QueueArg", dict(size=512))],
    "QueueInc": [("set_burst", "QueueIncCommandSetBurstArg", dict(burst=4))],
    "RandomSplit": [("set_droprate", "RandomSplitCommandSetDroprateArg", dict(drop_rate=0.1)),
                    ("set_gates", "RandomSplitCommandSetGatesArg", dict(gates=[1]))],
    "RandomUpdate": [("add", "RandomUpdateArg", dict(fields=[dict(offset=30, size=4, max=5)]))],
    "Replicate": [("set_gates", "ReplicateCommandSetGatesArg", dict(gates=[1, 2]))],
    "Rewrite": [("add", "RewriteArg", dict(templates=[packet(dport=1)]))],
    "RoundRobin": [("set_gates", "RoundRobinCommandSetGatesArg", dict(gates=[1])),
                   ("set_mode", "RoundRobinCommandSetModeArg", dict(mode="batch"))],
    "Source": [("set_pkt_size", "SourceCommandSetPktSizeArg", dict(pkt_size=128)), ("set_burst", "SourceCommandSetBurstArg", dict(burst=8))],
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


def every_class_is_made_and_commanded():
    bess.create_port("PMDPort", "p", vdev="net_null0")
    bess.create_port("PMDPort", "q", vdev="net_null1,size=100")
    classes = bess.request("ListMclass").names
    for name in classes:
        info = bess.request("GetMclassInfo", name=name)
        module = bess.create_module(name, "", **MADE.get(name, {}))
        equal(bess.info(module).mclass, name)
        ran = set()
        for cmd, arg_type, arg in RUN.get(name, []):
            bess.command(module, cmd, arg_type, **arg)
            ran.add(cmd)
        for cmd, arg_type in zip(info.cmds, info.cmd_args):
            if cmd not in ran:
                assert arg_type in ("EmptyArg", "NATArg"), f"{name}.{cmd} takes {arg_type}: not tried"
                bess.command(module, cmd, arg_type)
        bess.request("DestroyModule", name=module)
    return classes


def initial_arguments_come_back():
    for name in ("ExactMatch", "WildcardMatch", "NAT", "StaticNAT", "SetMetadata", "PortInc"):
        module = bess.create_module(name, "", **MADE[name])
        equal(bess.command(module, "get_initial_arg"), facts.message(name + "Arg")(**MADE[name]))
        bess.request("DestroyModule", name=module)


def configurations_come_back():
    em = bess.create_module("ExactMatch", "", **MADE["ExactMatch"])
    config = dict(default_gate=2, rules=[dict(gate=1, fields=[value(4), value(5)])])
    bess.command(em, "set_runtime_config", "ExactMatchConfig", **config)
    equal(bess.command(em, "get_runtime_config"), facts.message("ExactMatchConfig")(**config))
    gone = dict(fields=[value(9), value(9)])
    refused(ENOENT, "no such rule", bess.command, em, "delete", "ExactMatchCommandDeleteArg", **gone)
    small = bess.create_module("IPLookup", "", max_rules=1)
    bess.command(small, "add", "IPLookupCommandAddArg", prefix="10.0.0.0", prefix_len=8, gate=1)
    one_more = dict(prefix="11.0.0.0", prefix_len=8, gate=1)
    refused(ENOSPC, "no room", bess.command, small, "add", "IPLookupCommandAddArg", **one_more)
    refused(EINVAL, "10.0.0.1/8 names a host", bess.command, small, "add", "IPLookupCommandAddArg",
            prefix="10.0.0.1", prefix_len=8, gate=1)
    l2 = bess.create_module("L2Forward")
    bess.command(l2, "add", "L2ForwardCommandAddArg", entries=[dict(addr="02:00:00:00:00:01", gate=4)])
    found = bess.command(l2, "lookup", "L2ForwardCommandLookupArg", addrs=["02:00:00:00:00:01"])
    equal(list(found.gates), [4])
    bess.request("ResetModules")


def generator(more=b""):
    """A source of packets from 10.0.0.1:1000 to 10.1.0.1:2000, with bytes behind them."""
    bess.create_module("Source", "src")
    bess.create_module("Rewrite", "rewrite", templates=[packet() + more])
    bess.connect("src", "rewrite")


def steered(mclass, gate, arg, *commands):
    """What that module does with packets from 10.0.0.1:1000 to 10.1.0.1:2000: they leave by `gate`."""
    generator()
    module = bess.create_module(mclass, "it", **arg)
    for cmd, arg_type, fields in commands:
        bess.command(module, cmd, arg_type, **fields)
    bess.create_module("Sink", "right")
    bess.create_module("Sink", "wrong")
    bess.connect("it", "right", ogate=gate)
    bess.connect("it", "wrong", ogate=gate + 1)
    bess.connect("rewrite", "it")
    bess.await_arrival("right", 1000)
    equal(bess.arrived("wrong"), 0)
    bess.request("ResetModules")


def tables_steer_packets():
    steered("ExactMatch", 3, MADE["ExactMatch"],
            ("add", "ExactMatchCommandAddArg", dict(gate=3, fields=[value(0x0a000001), value(0x0a010001)])))
    steered("WildcardMatch", 5, MADE["WildcardMatch"],
            ("add", "WildcardMatchCommandAddArg", dict(gate=1, priority=1, values=[value(0)], masks=[value(0)])),
            ("add", "WildcardMatchCommandAddArg", dict(gate=5, priority=2, values=[value(0x0a000000)], masks=[value(0xff000000)])))
    steered("IPLookup", 2, {}, ("add", "IPLookupCommandAddArg", dict(prefix="10.0.0.0", prefix_len=8, gate=3)),
            ("add", "IPLookupCommandAddArg", dict(prefix="10.1.0.0", prefix_len=16, gate=2)))
    steered("L2Forward", 1, {}, ("add", "L2ForwardCommandAddArg", dict(entries=[dict(addr="02:00:00:00:00:02", gate=1)])))


def rules_keep_packets_out():
    generator()
    bess.create_module("ACL", "acl", rules=[dict(src_ip="10.0.0.0/8", drop=True), dict()])
    bess.create_module("Sink", "end")
    bess.chain("rewrite", "acl", "end")
    bess.await_arrival("acl", 1000)
    equal(bess.arrived("end"), 0)
    bess.command("acl", "clear")
    bess.command("acl", "add", "ACLArg", rules=[dict(src_ip="10.0.0.1")])
    bess.await_arrival("end", 1000)
    assert bess.info("acl").deadends > 0
    bess.request("ResetModules")


def sources_are_translated():
    """src -> nat -> only what comes from 192.0.2.1 -> outside."""
    generator()
    bess.create_module("NAT", "nat", **MADE["NAT"])
    bess.create_module("Sink", "outside")
    bess.create_module("Sink", "end")
    bess.create_module("ACL", "only", rules=[dict(src_ip="192.0.2.1/32")])
    bess.connect("nat", "only", ogate=1)
    bess.connect("only", "outside")
    bess.connect("nat", "end", ogate=0)
    bess.connect("rewrite", "nat")
    bess.await_arrival("outside", 1000)
    equal(bess.arrived("end"), 0)
    bess.request("ResetModules")


def time_under_way_is_measured():
    generator(more=bytes(40))
    bess.create_module("Timestamp", "stamp")
    bess.create_module("Queue", "queue", size=64)
    bess.create_module("Measure", "measure", jitter_sample_prob=1.0)
    bess.create_module("Sink", "end")
    bess.chain("rewrite", "stamp", "queue", "measure", "end")
    bess.await_arrival("end", 1000)
    found = bess.command("measure", "get_summary", "MeasureCommandGetSummaryArg", latency_percentiles=[0, 50, 100])
    assert found.packets >= 1000 and found.latency.count >= 1000 and len(found.latency.percentile_values_ns) == 3, found
    refused(EINVAL, "not in order", bess.command, "measure", "get_summary", "MeasureCommandGetSummaryArg",
            latency_percentiles=[50, 1])
    bess.request("ResetModules")


def flows_are_generated_and_shared_fairly():
    bess.create_module("FlowGen", "flows", **MADE["FlowGen"])
    bess.create_module("DRR", "fair", quantum=1500)
    bess.create_module("Sink", "end")
    bess.chain("flows", "fair", "end")
    bess.await_arrival("end", 1000)
    bess.request("ResetModules")


def tables_on_two_workers_are_alike():
    """A table that was told things on one worker tells them to its likeness on another."""
    core = bess.request("ListWorkers").workers_status[0].core
    for name in ("a", "b"):
        bess.create_module("Source", name)
        bess.create_module("Rewrite", "rewrite_" + name, templates=[packet()])
        bess.connect(name, "rewrite_" + name)
    bess.create_module("ExactMatch", "em", **MADE["ExactMatch"])
    bess.create_module("IPLookup", "routes")
    bess.create_module("Split", "split", size=1, offset=6)
    bess.create_module("Sink", "end")
    rule = dict(gate=3, fields=[value(0x0a000001), value(0x0a010001)])
    bess.command("em", "add", "ExactMatchCommandAddArg", **rule)
    bess.command("routes", "add", "IPLookupCommandAddArg", prefix="10.0.0.0", prefix_len=8, gate=4)
    bess.connect("em", "routes", ogate=3)
    bess.connect("routes", "end", ogate=4)
    bess.connect("rewrite_a", "em")
    bess.await_arrival("end", 1000)
    bess.request("AddWorker", wid=1, core=core)
    bess.attach_task("b", wid=1)
    bess.connect("rewrite_b", "em")
    bess.request("PauseWorker", wid=0)
    bess.await_arrival("end", 1000)
    bess.request("ResumeWorker", wid=0)
    bess.request("ResetAll")


made = every_class_is_made_and_commanded()
for step in (
    initial_arguments_come_back, configurations_come_back, tables_steer_packets, rules_keep_packets_out,
    sources_are_translated, time_under_way_is_measured, flows_are_generated_and_shared_fairly,
    tables_on_two_workers_are_alike,
):
    step()
assert len(made) >= 50, made
