"""Arguments that make no sense, of every message: an error with code and text each, never a crash, and packets flow on.

The cases come from the protocol's descriptors. Each field of each right argument is given values that its type allows and no
module may, or may not; bytes are cut and changed, types are wrong. What is taken all the same is put among packets, so that it
has to work too. A seed makes it the same each time.
"""

import random

from arguments import MADE, RUN, packet
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor as F
from session import *

bess = Bess()
rng = random.Random(20261)

LONG = "x" * 10_000
REAL = [0.0, 1e300, 5e-324]
# What may be right here and there.
ODD = {
    F.TYPE_INT64: [-(1 << 63), -1, 0, 1, 8192, 8193, 1 << 30, (1 << 63) - 1],
    F.TYPE_INT32: [-(1 << 31), -1, 0, 1, (1 << 31) - 1],
    F.TYPE_UINT64: [0, 1, 33, 8192, 1 << 16, 1 << 30, (1 << 64) - 1],
    F.TYPE_UINT32: [0, 1, 33, 1 << 16, (1 << 32) - 1],
    F.TYPE_ENUM: [0, 99, -1],
    F.TYPE_DOUBLE: REAL,
    F.TYPE_BOOL: [False, True],
    F.TYPE_STRING: ["", "x", "x" * 300, "a\0b", "\n", "%n%s", "./", "ü" * 200, "-x", "256.0.0.0", "10.0.0.0/33", "\u202e", "("],
    F.TYPE_BYTES: [b"", b"\0", b"\xff" * 9, b"x" * 3000],
}
# What never is: a name of ten thousand characters, what is no number, a gate that no module has.
WRONG = {F.TYPE_STRING: [LONG], F.TYPE_DOUBLE: [-1.0, float("nan"), float("inf"), float("-inf")]}
GATES = {"gate", "gates", "default_gate", "igate", "ogate", "gate_count"}
NO_GATE = [8193, 1 << 20, (1 << 63) - 1]


def load():
    """The messages as the daemon has them, with those that BESS does not know; services and their methods."""
    files = descriptor_pb2.FileDescriptorSet()
    path = pathlib.Path(__file__).resolve().parents[4] / "python/src/tidegate/proto/interface.binpb"
    files.ParseFromString(path.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    methods = {}
    for file in files.file:
        file.ClearField("source_code_info")
        pool.AddSerializedFile(file.SerializeToString())
        for service in file.service:
            for method in service.method:
                name = f"/{file.package}.{service.name}/{method.name}"
                methods[name] = (method.input_type.lstrip("."), method.output_type.lstrip("."), method.server_streaming)
    return pool, methods


POOL, METHODS = load()


def message(name):
    descriptor = POOL.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(POOL).GetPrototype(descriptor)


def is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def is_list(field):
    return field.label == field.LABEL_REPEATED and not is_map(field)


def scalars(field):
    """Values of a field that is no message, and whether each is wrong wherever the field stands."""
    wrong = WRONG.get(field.type, [])
    if field.name in GATES and field.type in (F.TYPE_INT64, F.TYPE_UINT64):
        wrong = NO_GATE + ([-2] if field.type == F.TYPE_INT64 else [])
    return [(value, True) for value in wrong] + [(value, False) for value in ODD[field.type]]


def variants(base):
    """Likenesses of a message with one thing changed, and whether that must be refused."""
    for field in base.DESCRIPTOR.fields:
        now = getattr(base, field.name)
        if is_map(field):
            key, value = field.message_type.fields
            if value.type == F.TYPE_MESSAGE:
                continue
            some = dict(now) or {ODD[key.type][1]: ODD[value.type][1]}
            one = next(iter(some))
            entries = [({k: some[one]}, bad) for k, bad in scalars(key)] + [({one: v}, bad) for v, bad in scalars(value)]
        elif field.message_type is not None:
            inner = (now[0] if now else message(field.message_type.full_name)()) if is_list(field) else now
            if field.message_type.full_name.startswith("google."):
                continue
            entries = [([it] if is_list(field) else it, bad) for it, bad in variants(inner)]
            if is_list(field):
                entries += [([], False), ([type(inner)()], False), ([inner] * 1000, False)]
        elif is_list(field):
            entries = [([value], bad) for value, bad in scalars(field)] + [([], False)]
            entries += [(list(now)[:1] * 20_000, False)]
        else:
            entries = scalars(field)
        for value, bad in entries:
            changed = type(base)()
            changed.CopyFrom(base)
            changed.ClearField(field.name)
            if is_map(field):
                getattr(changed, field.name).update(value)
            elif is_list(field):
                getattr(changed, field.name).extend(value)
            elif field.message_type is not None:
                getattr(changed, field.name).CopyFrom(value)
            else:
                setattr(changed, field.name, value)
            yield changed, bad


def damaged(data, count=8):
    """The bytes, cut or with bits turned: these may still be a message."""
    for _ in range(count):
        other = bytearray(data + rng.randbytes(2))
        other[rng.randrange(len(other))] ^= 1 << rng.randrange(8)
        yield bytes(other[: rng.randrange(len(other)) + 1])


def call(path, data):
    """Calls a method with bytes: its answer, or nothing if it was refused as it should be. Anything else ends the test."""
    stub = bess.channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
    try:
        got = stub(data, timeout=300)
    except grpc.RpcError as error:
        sound = error.code() == grpc.StatusCode.INTERNAL and "decode" in error.details()
        known = {"INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "PERMISSION_DENIED", "UNIMPLEMENTED",
                 "RESOURCE_EXHAUSTED", "INTERNAL"}
        own = path.startswith("/tidegate.") and error.code().name in known
        assert sound or own, f"{path}: {error}"
        said(path, error.details() if own else "refused")
        return None
    answer = message(METHODS[path][1]).FromString(got)
    if path.startswith("/bess.") and answer.error.code != 0:
        codes = (EPERM, ENOENT, EIO, EBUSY, EEXIST, ENODEV, EINVAL, ENOSPC, ENOTSUP)
        assert answer.error.code in codes, f"{path}: {answer.error}"
        said(path, answer.error.errmsg)
        return None
    return answer


def said(path, text):
    assert 0 < len(text) < 600 and text.isprintable(), f"{path}: {text[:600]!r}"
    assert "panic" not in text and "report it" not in text, f"{path}: {text!r}"


def method(name):
    return f"/bess.pb.BESSControl/{name}"


def request(name, /, **fields):
    return message(METHODS[method(name)][0])(**fields)


def packed(kind, data):
    """An Any of the descriptors' pool."""
    return message("google.protobuf.Any")(type_url=f"type.googleapis.com/bess.pb.{kind}", value=data)


def must_refuse(path, made):
    assert call(path, made.SerializeToString()) is None, f"{path} took {str(made)[:500]}"


def spoil(path, fill, base):
    """Calls with `fill(any)` for arguments like `base` and not: gives the answers to those that were taken."""
    kind, good = base.DESCRIPTOR.name, base.SerializeToString()
    must_refuse(path, fill(packed("Error", b"")))
    must_refuse(path, fill(packed(kind, b"\x0a\x7f\x01")))
    must_refuse(path, fill(message("google.protobuf.Any")(type_url=LONG * 7, value=good)))
    must_refuse(path, fill(message("google.protobuf.Any")(type_url="", value=b"\x08\x01")))
    for changed, is_wrong in variants(base):
        made = fill(packed(kind, changed.SerializeToString()))
        if is_wrong:
            must_refuse(path, made)
        else:
            yield call(path, made.SerializeToString())
    for data in damaged(good):
        yield call(path, fill(packed(kind, data)).SerializeToString())


def argument_of(mclass):
    """The message that modules of a class are made with, with what is right."""
    names = [name for name in (mclass + "Arg", {"MPLSPop": "MplsPopArg", "NoOP": "NoOpArg"}.get(mclass, "EmptyArg"))]
    for name in names:
        try:
            return message("bess.pb." + name)(**MADE.get(mclass, {}))
        except KeyError:
            pass
    raise AssertionError(f"no argument of {mclass}")


def put_among_packets(name):
    """Has packets come to a module's first gate and leave by it, if it has any."""
    for m1, m2 in (("feed", name), (name, "drain")):
        call(method("ConnectModules"), request("ConnectModules", m1=m1, m2=m2).SerializeToString())


def packets_flow():
    bess.await_arrival("end", 100)


def build(core):
    """src -> feed -> the module that is tried -> drain, and src2 -> end beside it, both in a walk."""
    bess.request("AddWorker", wid=0, core=core)
    # Those that a transformer edge names.
    for name in ("old", "new"):
        bess.add_tc(name, "round_robin", wid=0)
    for src, to in (("src", "feed"), ("src2", "end")):
        bess.create_module("Source", src)
        if to == "feed":
            bess.create_module("Rewrite", to, templates=[packet()])
        else:
            bess.create_module("Sink", to)
        bess.connect(src, to)
        bess.add_tc("calm_" + src, "rate_limit", wid=0, resource="packet", limit={"packet": 20_000})
        bess.attach_task(src, parent="calm_" + src)
    bess.create_module("Sink", "drain")
    bess.create_port("PMDPort", "p", vdev="net_null0")
    bess.create_port("PMDPort", "q", vdev="net_null1")
    packets_flow()


def modules_are_made_of_anything(classes):
    for name in classes:
        fill = lambda arg: request("CreateModule", mclass=name, arg=arg)
        for made in spoil(method("CreateModule"), fill, argument_of(name)):
            if made is not None:
                put_among_packets(made.name)
                bess.request("DestroyModule", name=made.name)
        packets_flow()


def commands_take_anything(classes):
    for name in classes:
        info = bess.request("GetMclassInfo", name=name)
        if not info.cmds:
            continue
        arg = argument_of(name)
        whole = request("CreateModule", mclass=name, arg=packed(arg.DESCRIPTOR.name, arg.SerializeToString()))
        module = call(method("CreateModule"), whole.SerializeToString()).name
        put_among_packets(module)
        told = {cmd: fields for cmd, _, fields in RUN.get(name, [])}
        for cmd, kind in zip(info.cmds, info.cmd_args):
            base = message("bess.pb." + kind)(**told.get(cmd, {}))
            fill = lambda arg: request("ModuleCommand", name=module, cmd=cmd, arg=arg)
            for _ in spoil(method("ModuleCommand"), fill, base):
                pass
        bess.request("DestroyModule", name=module)
        packets_flow()


PORTS = {
    "AFXDPPort": dict(dev="ghost", steer=["udp 192.0.2.7:53"]),
    "BulkTapPort": dict(ifname="bulk0", ip_addrs=["10.8.0.1/24"]),
    "MemifPort": dict(socket="memif.sock", role="server", secret="word"),
    "PCAPPort": dict(dev="lo"),
    "PMDPort": dict(vdev="net_null9,size=64"),
    "UnixSocketPort": dict(path="peer"),
    "VPort": dict(ifname="odd0", ip_addrs=["10.9.0.1/24"]),
    "VhostUserPort": dict(socket="vhost.sock", role="server"),
}


def ports_are_made_of_anything():
    def undo(made):
        if made is not None:
            bess.request("DestroyPort", name=made.name)

    drivers = bess.request("ListDrivers").driver_names
    assert set(drivers) <= set(PORTS), drivers
    for driver in drivers:
        fill = lambda arg: request("CreatePort", driver=driver, arg=arg)
        base = message(f"bess.pb.{driver}Arg")(**PORTS[driver])
        for made in spoil(method("CreatePort"), fill, base):
            undo(made)
    words = "net_null net_pcap net_tap net_af_packet net_af_xdp net_ 0 size iface rx_pcap tx_pcap rsize role = , ' ' lo fifo \n".split(" ")
    for _ in range(200):
        vdev = "".join(rng.choice(words) for _ in range(rng.randrange(1, 8)))
        undo(call(method("CreatePort"), port_of(vdev)))
    for options in ("rsize=99", "rsize=-1", "bsize=0", "id=4294967296", "role=king", "secret=" + LONG, "socket=" + LONG):
        assert call(method("CreatePort"), port_of(f"net_memif0,{options}")) is None, options[:60]
    packets_flow()


def port_of(vdev):
    arg = message("bess.pb.PMDPortArg")(vdev=vdev)
    return request("CreatePort", driver="PMDPort", arg=packed("PMDPortArg", arg.SerializeToString())).SerializeToString()


def files_that_never_answer_are_not_waited_for(fifo):
    """A FIFO that nobody writes or reads would hold whoever opens it."""
    for vdev in (f"net_pcap0,rx_pcap={fifo}", f"net_pcap0,tx_pcap={fifo}"):
        assert call(method("CreatePort"), port_of(vdev)) is None, vdev
    if "Replay" in bess.request("ListMclass").names:
        arg = packed("ReplayArg", message("bess.pb.ReplayArg")(path=fifo).SerializeToString())
        must_refuse(method("CreateModule"), request("CreateModule", mclass="Replay", arg=arg))
    packets_flow()


def hooks_are_put_anywhere():
    for name, kind in (("Track", "TrackArg"), ("TcpDump", "TcpdumpArg"), ("PcapNg", "PcapngArg")):
        base = message("bess.pb." + kind)()
        for place in (dict(ogate=-1), dict(igate=0, module_name="end"), dict(ogate=9, module_name="ghost")):
            def fill(arg, enable=True):
                hook = message("bess.pb.GateHookInfo")(class_name=name, arg=arg, **place)
                return request("ConfigureGateHook", hook=hook, enable=enable)
            for made in spoil(method("ConfigureGateHook"), fill, base):
                if made is not None:
                    call(method("ConfigureGateHook"), fill(packed(kind, b""), enable=False).SerializeToString())
    packets_flow()


# What is right, or nearly: of these each field is changed. A name is one that the test does not need.
TC = dict(name="class", policy="rate_limit", resource="packet", limit={"packet": 5}, max_burst={"packet": 5}, wid=0)
REQUESTS = {
    "AddTc": dict(**{"class": TC}),
    "AddWorker": dict(wid=5, core=0),
    "ConfigureGateHook": dict(hook=dict(class_name="Track", module_name="spare", ogate=0), enable=True),
    "ConfigureResumeHook": dict(hook_name="setup_metadata", enable=True),
    "ConnectModules": dict(m1="spare", m2="other"),
    "CreateModule": dict(name="made", mclass="Bypass"),
    "CreatePort": dict(name="port", driver="UnixSocketPort"),
    "DestroyModule": dict(name="ghost"),
    "DestroyPort": dict(name="ghost"),
    "DestroyWorker": dict(wid=9),
    "DisconnectModules": dict(name="spare", ogate=0),
    "DumpMempool": dict(socket=0),
    "GateHookCommand": dict(hook=dict(class_name="Track", module_name="spare", ogate=0), cmd="reset"),
    "GetDriverInfo": dict(driver_name="VPort"),
    "GetGateHookClassInfo": dict(name="Track"),
    "GetLinkStatus": dict(name="p"),
    "GetMclassInfo": dict(name="Queue"),
    "GetModuleInfo": dict(name="spare"),
    "GetPortConf": dict(name="p"),
    "GetPortStats": dict(name="p"),
    "GetTcStats": dict(name="calm_src"),
    "ImportPlugin": dict(path="/tmp/m.so"),
    "ListTcs": dict(wid=0),
    "ModuleCommand": dict(name="spare", cmd="dance"),
    "PauseWorker": dict(wid=9),
    "ResumeWorker": dict(wid=9),
    "SetPortConf": dict(name="p", conf=dict(mac_addr="", mtu=1500, admin_up=True)),
    "UnloadPlugin": dict(path="/tmp/m.so"),
    "UpdateTcParams": dict(**{"class": dict(name="some", resource="packet", limit={"packet": 5})}),
    "UpdateTcParent": dict(**{"class": dict(leaf_module_name="idle", leaf_module_taskid=0, parent="some")}),
}
# A name that these do not need is of no consequence.
UNNEEDED = {("AddTc", LONG), ("UpdateTcParams", LONG), ("UpdateTcParent", LONG)}


def requests_hold_anything():
    bess.create_module("Bypass", "spare")
    bess.create_module("Bypass", "other")
    bess.create_module("NoOP", "idle")
    bess.add_tc("some", "rate_limit", wid=0, resource="packet", limit={"packet": 5})
    for path, (kind, _, _) in METHODS.items():
        name = path.rpartition("/")[2]
        if not path.startswith("/bess."):
            continue
        must_refuse(path, Bytes(b"\x0a\x7f\x01"))
        if kind == "bess.pb.EmptyRequest":
            continue
        base = message(kind)(**REQUESTS[name])
        for changed, is_wrong in variants(base):
            if is_wrong and not (LONG in str(changed) and (name, LONG) in UNNEEDED):
                must_refuse(path, changed)
                continue
            made = call(path, changed.SerializeToString())
            if made is not None and name == "CreateModule":
                bess.request("DestroyModule", name=made.name)
            if made is not None and name == "CreatePort":
                bess.request("DestroyPort", name=made.name)
        for data in damaged(base.SerializeToString(), 20):
            call(path, data)
        packets_go_on(name)
    equal(len([path for path in METHODS if path.startswith("/bess.")]), 48)


def packets_go_on(name):
    """A worker that was paused by a request that made sense is told to go on."""
    if name in ("PauseWorker", "AddWorker"):
        bess.request("ResumeAll")
    packets_flow()


class Bytes:
    """Bytes in a message's place."""

    def __init__(self, data):
        self.data = data

    def SerializeToString(self):
        return self.data


OWN = {
    "ReplacePipeline": dict(check_only=True, pipeline=dict(
        modules=[dict(name="a", mclass="Source"), dict(name="b", mclass="Sink")], connections=[dict(m1="a", m2="b")],
        workers=[dict(wid=0)], classes=[dict(name="c", policy="priority")], tasks=[dict(leaf_module_name="a", parent="c")],
        ports=[dict(name="p", driver="UnixSocketPort")], commands=[dict(name="a", cmd="set_burst")])),
    "ShowPipeline": {},
    "ShowMetadata": dict(modules=["spare"]),
    "StartService": dict(name="web", config="[[device]]\n", directory="/tmp"),
    "StopService": dict(name="ghost", drain_ms=0),
    "ListServices": {},
    "ReloadZones": dict(service="ghost", zone="example.org"),
    "BindTuple": dict(tuple=dict(protocol="tcp", address="127.0.0.1:8080"), device="ghost", uid=1, grade="veth"),
    "ReleaseTuple": dict(tuple=dict(protocol="tcp", address="127.0.0.1:8080")),
    "ListStacks": {},
}


def own_requests_hold_anything():
    for path, (kind, _, is_stream) in METHODS.items():
        if path.startswith("/bess.") or is_stream:
            continue
        base = message(kind)(**OWN[path.rpartition("/")[2]])
        must_refuse(path, Bytes(b"\x0a\x7f\x01"))
        for changed, _ in variants(base):
            if kind.endswith("ReplacePipelineRequest"):
                changed.check_only = True
            call(path, changed.SerializeToString())
        for data in damaged(base.SerializeToString(), 20):
            if not kind.endswith("ReplacePipelineRequest"):
                call(path, data)
    packets_flow()


def a_fresh_pipeline_works():
    bess.request("ResumeAll")
    bess.request("ResetAll")
    for left, field in (("ListPorts", "ports"), ("ListModules", "modules"), ("ListWorkers", "workers_status")):
        equal(len(getattr(bess.request(left), field)), 0)
    equal(bess.request("DumpMempool", socket=-1).dumps[0].mp_in_use_count, 0)
    bess.create_module("Source", "src")
    bess.create_module("Queue", "queue")
    bess.create_module("Sink", "end")
    bess.chain("src", "queue", "end")
    bess.await_arrival("end", 1000)


def main(fifo, core):
    build(int(core))
    classes = bess.request("ListMclass").names
    modules_are_made_of_anything(classes)
    commands_take_anything(classes)
    ports_are_made_of_anything()
    files_that_never_answer_are_not_waited_for(fifo)
    hooks_are_put_anywhere()
    requests_hold_anything()
    own_requests_hold_anything()
    a_fresh_pipeline_works()


if __name__ == "__main__":
    main(*sys.argv[1:])
