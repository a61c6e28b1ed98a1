"""Web and name servers in a daemon: what cannot be is refused, and nothing is left of it."""

import tidegate
from tests.running import WithDaemon


class Services(WithDaemon):
    def test_what_cannot_be_served_is_refused(self) -> None:
        with self.assertRaisesRegex(tidegate.Invalid, "nonsense"):
            self.client.start_service("nonsense = 1\n", directory="/tmp")
        with self.assertRaisesRegex(tidegate.Invalid, "not absolute"):
            self.client.start_service("", directory="elsewhere")
        with self.assertRaisesRegex(tidegate.Invalid, "ghost.zone"):
            self.client.start_service('[[dns.zone]]\nfile = "ghost.zone"\n', name="names", directory="/nowhere")
        self.assertEqual(self.client.services(), ())

    def test_what_is_not_there_is_named(self) -> None:
        with self.assertRaisesRegex(tidegate.NotFound, "ghost"):
            self.client.stop_service("ghost", drain=0.1)
        with self.assertRaisesRegex(tidegate.NotFound, "ghost"):
            self.client.reload_zones("ghost")
        with self.assertRaisesRegex(tidegate.NotFound, "no name server"):
            self.client.reload_zones(zone="example.org")
