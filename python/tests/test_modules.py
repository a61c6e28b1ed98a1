"""Modules, commands and gates of a daemon that runs."""

import errno
import time
from collections.abc import Callable

import tidegate
from tests.running import WithDaemon
from tidegate.modules import BY_NAME, ArpResponder, Bypass, Queue, Sink, Source


def soon(condition: Callable[[], bool]) -> None:
    """Waits for what is bound to come."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.01)


class Modules(WithDaemon):
    def test_pipeline_is_built_step_by_step_as_scripts_of_bess_do(self) -> None:
        source, queue, sink = Source(), Queue(size=64), Sink(name="end")
        self.client.pipeline.add(source >> queue >> sink)
        self.assertEqual((source.name, queue.name), ("source0", "queue0"))
        soon(lambda: self.client.modules.info(sink).inputs[0].packets > 1000)
        info = self.client.modules.info(queue)
        self.assertEqual(info.inputs[0].upstream, (("source0", 0),))
        self.assertEqual((info.outputs[0].downstream, info.outputs[0].igate), ("end", 0))
        self.client.modules.disconnect(queue)
        self.client.modules.connect(queue, sink)
        self.client.modules.destroy(source)
        self.assertEqual({one.name for one in self.client.modules.all()}, {"queue0", "end"})

    def test_commands_have_typed_answers(self) -> None:
        queue = Queue(size=64)
        self.client.pipeline.add(Source() >> queue >> Sink())
        status = self.client.modules.run(queue, Queue.get_status())
        self.assertEqual(status.size, 64)
        self.client.modules.run(queue, Queue.set_size(size=128))
        self.assertEqual(self.client.modules.run(queue, Queue.get_status()).size, 128)
        self.assertEqual(self.client.modules.run(queue, Queue.get_initial_arg()).size, 64)
        self.assertIsNone(self.client.modules.run(queue, Queue.set_burst(burst=8)))

    def test_refusals_are_exceptions_with_errno_and_text(self) -> None:
        self.client.modules.create(Source(name="s"))
        with self.assertRaises(tidegate.AlreadyExists) as taken:
            self.client.modules.create(Source(name="s"))
        self.assertEqual(taken.exception.errno, errno.EEXIST)
        self.assertIn("there is a module s already", taken.exception.text)
        with self.assertRaises(tidegate.NotFound):
            self.client.modules.destroy("ghost")
        with self.assertRaises(tidegate.Invalid):
            self.client.modules.create(Source(pkt_size=1 << 40))
        with self.assertRaises(tidegate.Unsupported):
            self.client.modules.run("s", tidegate.Command("dance", None, None))
        with self.assertRaises(tidegate.NotFound):
            self.client.modules.create(tidegate.Module("NoSuchClass"))
        self.client.modules.create(Sink(name="e"))
        self.client.modules.connect("s", "e")
        with self.assertRaises(tidegate.Busy):
            self.client.modules.connect("s", "e")

    def test_every_class_of_the_daemon_is_in_the_catalogue(self) -> None:
        for mclass in self.client.modules.classes():
            info = self.client.modules.class_info(mclass)
            known = BY_NAME[mclass]
            missing = [command for command in info.commands if not hasattr(known, command)]
            self.assertEqual(missing, [], mclass)

    def test_classes_that_the_catalogue_does_not_know_have_a_way(self) -> None:
        module = tidegate.Module("Bypass", name="plain")
        self.client.modules.create(module)
        self.assertEqual(self.client.modules.info("plain").class_name, "Bypass")

    def test_metadata_layout_is_told_by_module(self) -> None:
        self.client.pipeline.add(Source() >> ArpResponder() >> Bypass(name="by") >> Sink())
        layout = self.client.metadata(["by"])
        self.assertEqual(list(layout.modules), ["by"])
        self.assertEqual(layout.area_len, 128)
        self.assertEqual(self.client.services(), ())
