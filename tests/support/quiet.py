"""A profd that nobody attacks, and that records the same: the moments of samples that the machine's other work costs it, it costs
any."""
import os


class Quiet:
    def __init__(self, test, *arguments, **options):
        self.daemon = test.profd()
        os.chmod(self.daemon.socket, 0o666)
        self.session = self.daemon.begin(*arguments, **options)["session"]

    def directory(self):
        return self.daemon.status(self.session)["directory"]

    def lost(self, kind):
        return sum(each["lost"] for each in self.daemon.status(self.session)["kinds"] if each["kind"] == kind)
