"""Calls all 48 methods as a controller would, then with damaged requests; health and reflection last.

    every_method.py ADDRESS

It knows interface.txt and nothing else of the daemon. What the calls came to is checked by its caller.
"""

import pathlib
import sys

import grpc
from google.protobuf.json_format import MessageToDict
from interface import Interface

HEALTH = """
/grpc.health.v1.Health/Check: HealthCheckRequest -> HealthCheckResponse
HealthCheckRequest: service=1 string
HealthCheckResponse: status=1 int32
"""
SERVING = 1

REFLECTION = """
/{0}.ServerReflection/ServerReflectionInfo: ServerReflectionRequest -> ServerReflectionResponse
ServerReflectionRequest: host=1 string; file_containing_symbol=4 string (oneof request); list_services=7 string (oneof request)
ServerReflectionResponse: file_descriptor_response=4 FileDescriptorResponse (oneof response); list_services_response=6 ListServiceResponse (oneof response)
FileDescriptorResponse: file_descriptor_proto=1 repeated bytes
ListServiceResponse: service=1 repeated ServiceResponse
ServiceResponse: name=1 string
"""

EINVAL, ENOENT, EEXIST, ENOTSUP = 22, 2, 17, 95

bess = Interface(pathlib.Path(__file__).with_name("interface.txt").read_text(), "bess.pb")
channel = grpc.insecure_channel(sys.argv[1])
called = set()


def call(method, /, **fields):
    """Calls a method; its answer."""
    called.add(method)
    path, request, answer = bess.methods[method]
    stub = channel.unary_unary(
        path,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=bess.message(answer).FromString,
    )
    return stub(bess.message(request)(**fields), timeout=30)


def ok(method, /, **fields):
    """Calls a method that must succeed; its answer as a dictionary."""
    answer = call(method, **fields)
    assert answer.error.code == 0, f"{method}({fields}): {answer.error}"
    return MessageToDict(answer, preserving_proto_field_name=True, descriptor_pool=bess._pool)


def refused(code, text, method, /, **fields):
    """Calls a method that must fail with this code and a text that has these words in it."""
    error = call(method, **fields).error
    assert error.code == code, f"{method}({fields}): {error}"
    assert text in error.errmsg, f"{method}({fields}): {text!r} is not in {error.errmsg!r}"
    assert "\n" not in error.errmsg and len(error.errmsg) < 400, error.errmsg


def equal(got, wanted):
    assert got == wanted, f"{got}\n    and not\n{wanted}"


def daemon_and_workers():
    equal(ok("GetVersion"), {"version": "Tidegate of the tests"})
    ok("PauseAll")
    ok("ResetAll")
    refused(ENOTSUP, "/tmp/m.so", "ImportPlugin", path="/tmp/m.so")
    refused(ENOENT, "/tmp/m.so", "UnloadPlugin", path="/tmp/m.so")
    equal(ok("ListPlugins"), {})
    ok("ResetWorkers")
    ok("AddWorker", wid=3, core=1)
    ok("AddWorker", wid=63, core=0, scheduler="experimental")
    ok("PauseWorker", wid=3)
    ok("ResumeWorker", wid=3)
    status = {"wid": "3", "core": "1", "running": True, "num_tcs": "2", "silent_drops": "5"}
    equal(ok("ListWorkers"), {"workers_status": [status]})
    ok("DestroyWorker", wid=63)
    ok("ResumeAll")


def bad_workers():
    for wid in (-1, 64, -(1 << 63), (1 << 63) - 1):
        for method in ("AddWorker", "DestroyWorker", "PauseWorker", "ResumeWorker"):
            refused(EINVAL, f"worker {wid} does not exist: 0 to 63 do", method, wid=wid)
    refused(EINVAL, "core -1", "AddWorker", wid=0, core=-1)
    refused(EINVAL, "scheduler `fifo`", "AddWorker", wid=0, scheduler="fifo")
    refused(EINVAL, "name of a plugin is missing", "ImportPlugin")


def classes():
    ok("ResetTcs")
    ok("AddTc", **{"class": dict(name="root", policy="priority", wid=3)})
    ok("AddTc", **{"class": dict(name="fair", policy="weighted_fair", resource="bit", parent="root", priority=0, wid=-1)})
    ok("AddTc", **{"class": dict(
        name="limit", policy="rate_limit", resource="bit", parent="fair", share=4, wid=-1,
        limit={"bit": 1_000_000}, max_burst={"bit": 1_000},
    )})
    ok("AddTc", **{"class": dict(name="turns", policy="round_robin", wid=-1)})
    ok("AddTc", **{"class": dict(name="free", policy="rate_limit", resource="count", wid=3)})
    ok("UpdateTcParams", **{"class": dict(name="limit", resource="bit", limit={"bit": 5, "packet": 2}, share=9)})
    ok("UpdateTcParent", **{"class": dict(name="limit", parent="root", priority=2, wid=-1)})
    ok("UpdateTcParent", **{"class": dict(leaf_module_name="source0", leaf_module_taskid=0, wid=3)})
    listed = {
        "name": "limit", "policy": "rate_limit", "resource": "bit", "limit": {"bit": "1000000"}, "share": "4", "wid": "3",
    }
    equal(ok("ListTcs", wid=3), {"classes_status": [{"class": listed, "parent": "root"}]})
    ok("ListTcs", wid=-1)
    usage = {"timestamp": 1.5, "count": "1", "cycles": "2", "packets": "3", "bits": str((1 << 64) - 1)}
    equal(ok("GetTcStats", name="limit"), usage)
    said = {"errmsg": "q is on two workers: move it"}
    equal(ok("CheckSchedulingConstraints"), {"error": said, "fatal": True, "modules": [{"name": "q"}]})


def bad_classes():
    def bad(text, method="AddTc", **fields):
        refused(EINVAL, text, method, **{"class": fields})

    for method in ("AddTc", "UpdateTcParams", "UpdateTcParent"):
        refused(EINVAL, "names no traffic class", method)
        bad("name of a traffic class is missing", method, wid=-1)
    bad("daemon's own", name="!root", policy="priority")
    bad("is none of priority, weighted_fair", name="c", policy="fastest")
    bad("a leaf is not added", name="c", policy="leaf")
    bad("weighted_fair needs a resource", name="c", policy="weighted_fair")
    bad("resource `byte` is none of", name="c", policy="rate_limit", resource="byte")
    bad("limit of bit is -1", name="c", policy="rate_limit", resource="bit", limit={"bit": -1})
    bad("share is 0", name="c", policy="priority", share=0)
    bad("priority is -1", name="c", policy="priority", priority=-1)
    bad("are both given", name="c", policy="priority", parent="p", wid=1)
    bad("worker 64 does not exist", name="c", policy="priority", wid=64)
    bad("task 65536 does not exist", "UpdateTcParent", leaf_module_name="m", leaf_module_taskid=1 << 16)
    refused(EINVAL, "worker 64", "ListTcs", wid=64)
    refused(EINVAL, "is missing", "GetTcStats")


def ports():
    ok("ResetPorts")
    equal(ok("ListDrivers"), {"driver_names": ["AFXDPPort", "BulkTapPort", "MemifPort", "PCAPPort", "PMDPort", "UnixSocketPort", "VhostUserPort"]})
    info = ok("GetDriverInfo", driver_name="PMDPort")
    assert info["name"] == "PMDPort" and info["help"], info
    made = ok("CreatePort", driver="UnixSocketPort", arg=bess.any("UnixSocketPortArg", path="@t", confirm_connect=True))
    equal(made, {"name": "port0", "mac_addr": "02:00:00:00:00:01"})
    ok("CreatePort", name="nic", driver="PMDPort", num_inc_q=2, num_out_q=128, size_inc_q=512,
       arg=bess.any("PMDPortArg", vdev="net_null0"))
    ok("CreatePort", driver="PCAPPort", arg=bess.any("PCAPPortArg", dev="lo"))
    arg = {"@type": "type.googleapis.com/bess.pb.PCAPPortArg", "dev": "lo"}
    equal(ok("ListPorts")["ports"][0], {"name": "nic", "driver": "PMDPort", "driver_arg": arg})
    equal(ok("SetPortConf", name="nic", conf=dict(mac_addr="2:0:0:0:0:fF", mtu=9000, admin_up=True)), {})
    ok("SetPortConf", name="nic", conf=dict(admin_up=True))
    equal(ok("GetPortConf", name="nic"), {"conf": {"mac_addr": "02:00:00:00:00:01", "mtu": 1500, "admin_up": True}})
    equal(ok("GetPortStats", name="nic"), {"inc": {"packets": "1"}, "out": {"packets": "2"}, "timestamp": 0.5})
    equal(ok("GetLinkStatus", name="nic"), {"speed": 10000, "full_duplex": True, "link_up": True})
    ok("DestroyPort", name="port0")
    equal(ok("DumpMempool", socket=-1), {"dumps": [{"initialized": True, "mp_size": 8}]})
    ok("DumpMempool", socket=1)


def bad_ports():
    path = bess.any("PCAPPortArg", dev="lo")
    refused(ENOENT, "there is no driver `VPort`", "CreatePort", driver="VPort")
    refused(ENOENT, "there is no driver ``", "GetDriverInfo")
    refused(EINVAL, "one of port_id, pci or vdev must be given", "CreatePort", driver="PMDPort")
    refused(EINVAL, "bess.pb.UnixSocketPortArg was expected", "CreatePort", driver="UnixSocketPort", arg=path)
    refused(EINVAL, "num_inc_q is 129", "CreatePort", driver="PCAPPort", arg=path, num_inc_q=129)
    refused(EINVAL, "size_out_q is", "CreatePort", driver="PCAPPort", arg=path, size_out_q=(1 << 64) - 1)
    refused(EINVAL, "1000 bytes long: 255", "CreatePort", name="p" * 1000, driver="PCAPPort", arg=path)
    refused(EINVAL, "111 bytes long: 107", "CreatePort", driver="UnixSocketPort",
            arg=bess.any("UnixSocketPortArg", path="s" * 111))
    refused(EEXIST, "nic", "CreatePort", name="nic", driver="PCAPPort", arg=path)
    refused(EINVAL, "`conf` is missing", "SetPortConf", name="nic")
    for mac in ("02:00:00:00:00", "02:00:00:00:00:01:02", "02:00:00:00:00:0g", "+2:0:0:0:0:1", "-"):
        refused(EINVAL, "is no MAC address", "SetPortConf", name="nic", conf=dict(mac_addr=mac))
    refused(EINVAL, "mtu is 65536", "SetPortConf", name="nic", conf=dict(mtu=65536))
    for method in ("DestroyPort", "GetPortConf", "GetPortStats", "GetLinkStatus"):
        refused(ENOENT, "ghost", method, name="ghost")
        refused(EINVAL, "name of a port is missing", method)
    refused(EINVAL, "NUMA node 1024", "DumpMempool", socket=1024)


def modules():
    ok("ResetModules")
    names = ok("ListMclass")["names"]
    assert "Queue" in names and "NoOP" not in names and len(names) == 63, names
    info = ok("GetMclassInfo", name="Queue")
    equal(info["cmds"][:2], ["set_burst", "set_size"])
    equal(info["cmd_args"][:2], ["QueueCommandSetBurstArg", "QueueCommandSetSizeArg"])
    equal(ok("CreateModule", mclass="Source"), {"name": "source0"})
    equal(ok("CreateModule", mclass="Source", arg=bess.any("EmptyArg")), {"name": "source1"})
    equal(ok("CreateModule", name="q", mclass="Queue", arg=bess.any("QueueArg", size=64)), {"name": "q"})
    equal(ok("CreateModule", mclass="MPLSPop", arg=bess.any("MplsPopArg", next_eth_type=0x800)), {"name": "mpls_pop0"})
    equal(ok("CreateModule", mclass="IPLookup", arg={"type_url": "bess.pb.IPLookupArg"}), {"name": "ip_lookup0"})
    equal(ok("ListModules")["modules"][1], {"name": "mpls_pop0", "mclass": "MPLSPop"})
    ok("ConnectModules", m1="source0", m2="q")
    ok("ConnectModules", m1="ip_lookup0", ogate=8191, m2="q", igate=0, skip_default_hooks=True)
    info = ok("GetModuleInfo", name="q")
    equal(info["ogates"], [{"ogate": "1", "pkts": "7", "name": "next", "igate": "2"}])
    equal(info["metadata"], [{"name": "vlan", "size": "2", "mode": "read", "offset": "-1"}])
    equal(info["deadends"], "9")
    ok("DisconnectModules", name="source0", ogate=0)
    ok("DestroyModule", name="source1")


def commands():
    route = bess.any("IPLookupCommandAddArg", prefix="10.0.0.0", prefix_len=8, gate=8192)
    equal(ok("ModuleCommand", name="ip_lookup0", cmd="add", arg=route), {})
    equal(ok("ModuleCommand", name="ip_lookup0", cmd="clear"), {})
    status = call("ModuleCommand", name="q", cmd="get_status")
    equal(status.data.type_url, "type.googleapis.com/bess.pb.QueueCommandGetStatusResponse")
    answer = bess.message("QueueCommandGetStatusResponse").FromString(status.data.value)
    equal((answer.count, answer.size), (4, 64))


def bad_modules():
    def bad(mclass, text, arg):
        refused(EINVAL, text, "CreateModule", name="m", mclass=mclass, arg=arg)
        refused(EINVAL, f"module `m` of class {mclass}", "CreateModule", name="m", mclass=mclass, arg=arg)

    refused(ENOENT, "there is no module class `NoOP`", "CreateModule", mclass="NoOP")
    refused(ENOENT, "no module class", "GetMclassInfo", name="q" * 70000)
    refused(EEXIST, "q", "CreateModule", name="q", mclass="Queue")
    refused(EINVAL, "bytes long", "CreateModule", name="q" * 70000, mclass="Queue")
    refused(EINVAL, "control characters", "CreateModule", name="a\0b", mclass="Queue")
    bad("Queue", "bess.pb.QueueArg was expected, not `type.googleapis.com/bess.pb.SinkArg`", bess.any("SinkArg"))
    bad("Queue", "QueueArg is damaged", dict(type_url="type.googleapis.com/bess.pb.QueueArg", value=b"\x08"))
    bad("Split", "one of attribute and offset must be given", bess.any("SplitArg", size=1))
    bad("RoundRobin", "gates[1]: gate is -1: it may be 0 to 8191", bess.any("RoundRobinArg", gates=[0, -1]))
    bad("Replicate", "gate is 8192", bess.any("ReplicateArg", gates=[8192]))
    bad("RandomSplit", "drop_rate is NaN", bess.any("RandomSplitArg", drop_rate=float("nan")))
    bad("PortOut", "port is missing", bess.any("PortOutArg"))
    for method in ("DestroyModule", "GetModuleInfo", "ModuleCommand", "DisconnectModules"):
        refused(ENOENT, "ghost", method, name="ghost")
        refused(EINVAL, "name of a module is missing", method)
    refused(EINVAL, "gate 8192 does not exist", "DisconnectModules", name="q", ogate=8192)
    refused(EINVAL, "no output gate 1", "ConnectModules", m1="source0", ogate=1, m2="q")
    refused(ENOTSUP, "no command `dance`: Queue has set_burst,", "ModuleCommand", name="q", cmd="dance")
    refused(EINVAL, "command set_burst of module `q`: QueueCommandSetBurstArg: burst is 33", "ModuleCommand",
            name="q", cmd="set_burst", arg=bess.any("QueueCommandSetBurstArg", burst=33))
    refused(EINVAL, "8192 drops", "ModuleCommand", name="ip_lookup0", cmd="add",
            arg=bess.any("IPLookupCommandAddArg", prefix="::", gate=8193))


def hooks():
    equal(ok("ListGateHookClass"), {"names": ["TcpDump", "Track"]})
    info = ok("GetGateHookClassInfo", name="Track")
    equal((info["cmds"], info["cmd_args"]), (["reset"], ["EmptyArg"]))
    every = dict(class_name="Track", ogate=-1, arg=bess.any("TrackArg", bits=True))
    equal(ok("ConfigureGateHook", hook=every, enable=True), {"name": "track0"})
    tap = dict(class_name="TcpDump", hook_name="tap", module_name="q", igate=0, arg=bess.any("TcpdumpArg", fifo="/tmp/f"))
    equal(ok("ConfigureGateHook", hook=tap, enable=True), {"name": "tap"})
    del tap["arg"]
    ok("ConfigureGateHook", hook=tap, enable=False)
    arg = {"@type": "type.googleapis.com/bess.pb.TrackArg", "bits": True}
    equal(ok("ListGateHooks"), {"hooks": [{"class_name": "Track", "ogate": "0", "arg": arg}]})
    equal(ok("GateHookCommand", hook=dict(class_name="Track", module_name="q", ogate=1), cmd="reset"), {})
    ok("ConfigureResumeHook", hook_name="setup_metadata", enable=True)
    ok("ConfigureResumeHook", hook_name="setup_taskgraph", enable=False, arg=bess.any("EmptyArg"))


def bad_hooks():
    def bad(text, **fields):
        refused(EINVAL, text, "ConfigureGateHook", hook=fields, enable=True)

    refused(EINVAL, "names no hook", "ConfigureGateHook")
    refused(EINVAL, "names no hook", "GateHookCommand", cmd="reset")
    refused(ENOENT, "there is no gate hook `PcapNg`", "GetGateHookClassInfo", name="PcapNg")
    bad("one of igate and ogate must be given", class_name="Track")
    bad("gate -2 does not exist", class_name="Track", igate=-2)
    bad("gate 8192 does not exist", class_name="Track", ogate=8192)
    bad("hook TcpDump: TcpdumpArg: fifo is missing", class_name="TcpDump", ogate=0)
    bad("bess.pb.TrackArg was expected", class_name="Track", ogate=0, arg=bess.any("TcpdumpArg", fifo="f"))
    refused(ENOTSUP, "no command `dance`", "GateHookCommand", hook=dict(class_name="Track", ogate=0), cmd="dance")
    refused(ENOENT, "no resume hook `x`", "ConfigureResumeHook", hook_name="x")
    refused(EINVAL, "was expected", "ConfigureResumeHook", hook_name="setup_metadata", arg=bess.any("SinkArg"))


def requests_that_are_no_messages():
    """What cannot be decoded at all is refused by gRPC itself, for each method."""
    for path, _, _ in bess.methods.values():
        try:
            channel.unary_unary(path)(b"\x0a\x7f\x01", timeout=30)
            raise AssertionError(f"{path} took bytes that are no message")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.INTERNAL and error.details(), error


def health():
    known = Interface(HEALTH, "grpc.health.v1")
    path, request, answer = known.methods["Check"]
    check = channel.unary_unary(
        path,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=known.message(answer).FromString,
    )
    for service in ("", "bess.pb.BESSControl", "tidegate.v1.Control"):
        equal(check(known.message(request)(service=service), timeout=30).status, SERVING)


def reflection(package):
    known = Interface(REFLECTION.format(package), package)
    path, request, answer = known.methods["ServerReflectionInfo"]
    ask = channel.stream_stream(
        path,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=known.message(answer).FromString,
    )
    new = known.message(request)
    questions = [new(list_services="*")]
    questions += [new(file_containing_symbol=f"bess.pb.{name}") for name in bess.names]
    listed, *files = ask(iter(questions), timeout=30)
    services = {service.name for service in listed.list_services_response.service}
    assert {"bess.pb.BESSControl", "tidegate.v1.Control", "grpc.health.v1.Health"} <= services, services
    assert len(files) == len(bess.names)
    assert all(file.file_descriptor_response.file_descriptor_proto for file in files)


def main():
    daemon_and_workers()
    bad_workers()
    classes()
    bad_classes()
    ports()
    bad_ports()
    modules()
    commands()
    bad_modules()
    hooks()
    bad_hooks()
    requests_that_are_no_messages()
    health()
    reflection("grpc.reflection.v1")
    reflection("grpc.reflection.v1alpha")
    ok("KillBess")
    equal(called, set(bess.methods))
    equal(len(called), 48)


main()
