"""Every class of modules that the protocol names: made, commanded, run. What goes in comes out as its table says."""

from arguments import MADE, RUN, packet, value
from session import *

bess = Bess()


def every_class_is_made_and_commanded():
    bess.create_port("PMDPort", "p", vdev="net_null0")
    bess.create_port("PMDPort", "q", vdev="net_null1,size=100")
    refused(ENOENT, "traffic class", bess.create_module, "Reclass", **MADE["Reclass"])
    for name in ("old", "new"):
        bess.add_tc(name, "round_robin")
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
    for name in ("BPF", "ExactMatch", "WildcardMatch", "NAT", "StaticNAT", "SetMetadata", "PortInc", "Reclass", "Replay", "UrlFilter"):
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
    urls = bess.create_module("UrlFilter", "", **MADE["UrlFilter"])
    bess.command(urls, "add", "UrlFilterArg", blacklist=[dict(host="example.net")])
    equal([(it.host, it.path) for it in bess.command(urls, "get_runtime_config").blacklist],
          [("example.org", "/private"), ("example.net", "")])
    refused(EINVAL, "host is missing", bess.command, urls, "add", "UrlFilterArg", blacklist=[dict(path="/")])
    bpf = bess.create_module("BPF", "", **MADE["BPF"])
    refused(ENOENT, "no filter `arp` of priority 2", bess.command, bpf, "delete", "BPFArg",
            filters=[dict(priority=2, filter="arp", gate=1)])
    refused(EINVAL, "syntax error", bess.command, bpf, "add", "BPFArg", filters=[dict(filter="tcp port")])
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
    steered("BPF", 2, MADE["BPF"],
            ("add", "BPFArg", dict(filters=[dict(priority=1, filter="ip", gate=3), dict(priority=9, filter="dst net 10.1/16", gate=2)])))
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


def captures_are_replayed():
    for more in (dict(flat_out=True), dict(speed=1000), dict(loops=2)):
        # It begins with its first turn.
        bess.request("PauseAll")
        bess.create_module("Replay", "replay", **dict(MADE["Replay"], **more))
        bess.create_module("BPF", "only", filters=[dict(filter="udp src port 7", gate=1)])
        bess.create_module("Sink", "end")
        bess.connect("only", "end", ogate=1)
        bess.connect("replay", "only")
        bess.resume_all()
        while bess.arrived("end") < 2:
            pass
        bess.request("ResetModules")
    refused(EINVAL, "no regular file", bess.create_module, "Replay", path="/dev/zero")
    refused(ENOENT, "/nowhere", bess.create_module, "Replay", path="/nowhere")
    refused(EINVAL, "no pcap file", bess.create_module, "Replay", path=__file__)


def tables_on_two_workers_are_alike():
    """A table that was told things on one worker tells them to its likeness on another."""
    core = bess.request("ListWorkers").workers_status[0].core
    for name in ("a", "b"):
        bess.create_module("Source", name)
        bess.create_module("Rewrite", "rewrite_" + name, templates=[packet()])
        bess.connect(name, "rewrite_" + name)
    bess.create_module("ExactMatch", "em", **MADE["ExactMatch"])
    bess.create_module("IPLookup", "routes")
    bess.create_module("BPF", "bpf", **MADE["BPF"])
    bess.create_module("Sink", "end")
    rule = dict(gate=3, fields=[value(0x0a000001), value(0x0a010001)])
    bess.command("em", "add", "ExactMatchCommandAddArg", **rule)
    bess.command("routes", "add", "IPLookupCommandAddArg", prefix="10.0.0.0", prefix_len=8, gate=4)
    bess.connect("em", "routes", ogate=3)
    bess.command("bpf", "add", "BPFArg", filters=[dict(priority=9, filter="udp", gate=6)])
    bess.connect("routes", "bpf", ogate=4)
    bess.connect("bpf", "end", ogate=6)
    bess.connect("rewrite_a", "em")
    bess.await_arrival("end", 1000)
    bess.request("AddWorker", wid=1, core=core)
    bess.attach_task("b", wid=1)
    bess.connect("rewrite_b", "em")
    bess.request("PauseWorker", wid=0)
    bess.await_arrival("end", 1000)
    bess.request("ResumeWorker", wid=0)
    bess.request("ResetAll")


def packets_change_their_class():
    """src (old) -> edge -> end (new): what is done behind the edge is the new class's."""
    for name in ("old", "new"):
        bess.add_tc(name, "round_robin")
    generator()
    bess.create_module("Reclass", "edge", classes={"old": "new"})
    bess.create_module("Sink", "end")
    bess.chain("rewrite", "edge", "end")
    bess.attach_task("src", parent="old")
    while bess.request("GetTcStats", name="new").packets < 1000:
        pass
    equal(bess.request("GetTcStats", name="!leaf_edge:0").packets > 0, True)
    for reset in ("ResetTcs", "ResetWorkers"):
        refused(ENOENT, "destroy edge before it goes", bess.request, reset)
    bess.request("ResetAll")


def tunnelled(encap, decap, outer, arg={}):
    """src -> into the tunnel -> only what has this outer header -> out of it -> only what went in -> end."""
    generator()
    ends = [dict(name="tun_ip_src", size=4, value_bin=bytes([192, 0, 2, 1])),
            dict(name="tun_ip_dst", size=4, value_bin=bytes([192, 0, 2, 2])),
            dict(name="tun_id", size=4, value_int=77),
            dict(name="ether_src", size=6, value_bin=bytes([2, 0, 0, 0, 0, 1])),
            dict(name="ether_dst", size=6, value_bin=bytes([2, 0, 0, 0, 0, 2]))]
    bess.create_module("SetMetadata", "ends", attrs=ends)
    bess.create_module(encap, "in", **arg)
    bess.create_module("IPEncap", "ip")
    bess.create_module("EtherEncap", "ether")
    bess.create_module("BPF", "outer", filters=[dict(filter=f"src host 192.0.2.1 and dst host 192.0.2.2 and {outer}", gate=1)])
    bess.create_module(decap, "out")
    bess.create_module("BPF", "inner", filters=[dict(filter="udp and src host 10.0.0.1 and dst port 2000 and less 60", gate=1)])
    bess.create_module("Sink", "end")
    bess.connect("inner", "end", ogate=1)
    bess.connect("out", "inner")
    bess.connect("outer", "out", ogate=1)
    bess.chain("rewrite", "ends", "in", "ip", "ether", "outer")
    bess.await_arrival("end", 1000)
    bess.request("ResetModules")


def tunnels_give_back_what_went_in():
    tunnelled("GREEncap", "GREDecap", "ip proto 47", dict(checksum=True))
    tunnelled("GREEncap", "GREDecap", "ip proto 47", dict(no_key=True))
    tunnelled("GeneveEncap", "GeneveDecap", "udp dst port 6081")
    tunnelled("GeneveEncap", "GeneveDecap", "udp dst port 7000", dict(dstport=7000))
    tunnelled("VXLANEncap", "VXLANDecap", "udp dst port 4789")


def flows_are_held_to_their_rates():
    """The flow is what the source port says; one without a rate does not pass."""
    generator()
    limits = dict(field=dict(offset=34, num_bytes=2), flows=2000, rates=[dict(flow=1, bits_per_second=10**9)])
    bess.create_module("RateLimiter", "limit", **limits)
    bess.create_module("Sink", "end")
    bess.chain("limit", "end")
    bess.connect("rewrite", "limit")
    bess.await_arrival("limit", 1000)
    equal(bess.arrived("end"), 0)
    wrong = [dict(flow=1000, bits_per_second=10**6), dict(flow=2000, bits_per_second=10**6)]
    refused(EINVAL, "2000", bess.command, "limit", "set_rates", "RateLimiterCommandSetRatesArg", rates=wrong)
    bess.await_arrival("limit", 1000)
    equal(bess.arrived("end"), 0)
    bess.command("limit", "set_rates", "RateLimiterCommandSetRatesArg", rates=wrong[:1])
    bess.await_arrival("end", 100)
    assert bess.arrived("limit") > 2 * bess.arrived("end")
    bess.request("ResetModules")


def bad_networks_lose_and_repeat():
    for fault, least, most in ((dict(loss=0.5), 0.45, 0.55), (dict(duplicate=0.5), 1.45, 1.55), (dict(loss=1), 0, 0)):
        generator()
        bess.create_module("Impair", "network", seed=1, **fault)
        bess.create_module("Sink", "end")
        bess.connect("network", "end")
        bess.connect("rewrite", "network")
        bess.await_arrival("network", 10_000)
        bess.request("PauseAll")
        share = bess.arrived("end") / bess.arrived("network")
        assert least <= share <= most, f"{fault}: {share}"
        bess.resume_all()
        bess.request("ResetModules")


def links_are_one_and_flows_are_balanced():
    generator()
    bess.create_module("LinkAggregation", "links", **MADE["LinkAggregation"])
    for name in ("host", "one", "two"):
        bess.create_module("Sink", name)
    for gate, name in enumerate(("host", "one", "two")):
        bess.connect("links", name, ogate=gate)
    bess.connect("rewrite", "links")
    bess.await_arrival("one", 1000)
    equal(bess.arrived("two") + bess.arrived("host"), 0)
    bess.command("links", "set_links", "LinkAggregationCommandSetLinksArg", up=[2])
    bess.await_arrival("two", 1000)
    refused(EINVAL, "3", bess.command, "links", "set_links", "LinkAggregationCommandSetLinksArg", up=[3])
    bess.request("ResetModules")

    bess.create_module("FlowGen", "flows", **MADE["FlowGen"])
    bess.create_module("LoadBalancer", "balance", gates=[0, 1])
    for gate in range(3):
        bess.create_module("Sink", f"server_{gate}")
        bess.connect("balance", f"server_{gate}", ogate=gate)
    bess.connect("flows", "balance")
    for gate in range(2):
        bess.await_arrival(f"server_{gate}", 1000)
    equal(bess.arrived("server_2"), 0)
    bess.command("balance", "set_gates", "LoadBalancerCommandSetGatesArg", gates=[2])
    bess.await_arrival("server_2", 1000)
    bess.request("ResetModules")


made = every_class_is_made_and_commanded()
for step in (
    initial_arguments_come_back, configurations_come_back, tables_steer_packets, rules_keep_packets_out,
    sources_are_translated, time_under_way_is_measured, flows_are_generated_and_shared_fairly,
    captures_are_replayed, tables_on_two_workers_are_alike, packets_change_their_class,
    tunnels_give_back_what_went_in, flows_are_held_to_their_rates, bad_networks_lose_and_repeat,
    links_are_one_and_flows_are_balanced,
):
    step()
assert len(made) >= 55, made
