"""Makes protobuf messages and gRPC calls from interface.txt, the facts alone: no .proto file is read."""

import re

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory

FIELD = re.compile(r"(\w+)=(\d+) (repeated )?(map<\w+,\w+>|[\w.]+)(?: \(oneof (\w+)\))?$")
SCALARS = {
    name: getattr(descriptor_pb2.FieldDescriptorProto, "TYPE_" + name.upper())
    for name in ("bool", "bytes", "double", "int32", "int64", "string", "uint32", "uint64")
}


class Interface:
    """Messages by name, and methods as name -> (request, answer)."""

    def __init__(self, text, package):
        self.package = package
        self.methods = {}
        self._pool = descriptor_pool.DescriptorPool()
        self._pool.AddSerializedFile(any_pb2.DESCRIPTOR.serialized_pb)
        file = descriptor_pb2.FileDescriptorProto(
            name=package + ".proto",
            package=package,
            syntax="proto3",
            dependency=["google/protobuf/any.proto"],
        )
        self._nodes = {}
        # A message before those inside it, however the lines are sorted.
        for line in sorted(text.splitlines(), key=lambda line: line.split(":")[0]):
            if line.startswith("/"):
                path, request, answer = re.match(r"(\S+): (\w+) -> (\w+)$", line).groups()
                self.methods[path.rpartition("/")[2]] = (path, request, answer)
            elif re.match(r"[A-Z][\w.]*: ", line):
                self._add(file, *line.split(": ", 1))
        self._pool.Add(file)
        self.names = sorted(self._nodes)

    def _add(self, file, name, fields):
        outer, _, short = name.rpartition(".")
        node = self._nodes[outer].nested_type.add() if outer else file.message_type.add()
        node.name = short
        self._nodes[name] = node
        for field in [] if fields.strip() == "(empty)" else fields.strip().split("; "):
            self._add_field(node, name, *FIELD.match(field).groups())

    def _add_field(self, node, owner, name, number, repeated, kind, oneof):
        field = node.field.add(name=name, number=int(number))
        field.label = field.LABEL_REPEATED if repeated or kind.startswith("map<") else field.LABEL_OPTIONAL
        if kind.startswith("map<"):
            self._add_map(node, owner, field, *kind[4:-1].split(","))
        elif kind in SCALARS:
            field.type = SCALARS[kind]
        else:
            field.type = field.TYPE_MESSAGE
            field.type_name = ".google.protobuf.Any" if kind == "google.Any" else f".{self.package}.{kind}"
        if oneof:
            known = [one.name for one in node.oneof_decl]
            if oneof not in known:
                node.oneof_decl.add(name=oneof)
                known.append(oneof)
            field.oneof_index = known.index(oneof)

    def _add_map(self, node, owner, field, key, value):
        entry = node.nested_type.add(name="".join(part.title() for part in field.name.split("_")) + "Entry")
        entry.options.map_entry = True
        for number, (name, kind) in enumerate((("key", key), ("value", value)), 1):
            entry.field.add(name=name, number=number, type=SCALARS[kind], label=field.LABEL_OPTIONAL)
        field.type = field.TYPE_MESSAGE
        field.type_name = f".{self.package}.{owner}.{entry.name}"

    def message(self, name):
        """The class of a message."""
        descriptor = self._pool.FindMessageTypeByName(f"{self.package}.{name}")
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(self._pool).GetPrototype(descriptor)

    def any(self, name, **fields):
        """A message of that name as it travels."""
        value = self.message(name)(**fields).SerializeToString()
        # An Any of this pool, which is not the one of any_pb2.
        return {"type_url": f"type.googleapis.com/{self.package}.{name}", "value": value}
