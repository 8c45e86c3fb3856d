"""Who is who in a test cluster: its certificates, made for one run, and the kubeconfigs that sign in with them."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from tests.testbed.kube_conf import kubeconfig
from tests.testbed.slurm_daemons import Daemons

TOKENS: dict[str, tuple[str, str]] = {
    "admin": ("admin", "system:masters"),
    "controllers": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    "coredns": ("system:coredns", "system:masters"),
}
"""Who signs in by token: the user, and the group."""

EXTENSIONS = """\
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth,clientAuth
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
"""


@dataclass(slots=True)
class Identities:
    """Files in *etc*: the authority, keys and certificates, tokens, kubeconfigs."""

    etc: Path
    daemons: Daemons
    tokens: dict[str, str] = field(default_factory=dict)

    def make_authority(self) -> None:
        """Make the cluster's certificate authority, and the key of its service accounts' tokens."""
        self._key("ca")
        self._openssl(
            *("req", "-x509", "-new", "-key", "ca.key", "-out", "ca.crt", "-subj", "/CN=lab", "-days", "3650"),
            *("-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"),
        )
        self._key("sa")
        self._openssl("pkey", "-in", "sa.key", "-pubout", "-out", "sa.pub")

    def make_tokens(self, nodes: tuple[str, ...]) -> None:
        """Write the file of tokens that the API server reads at its start."""
        who = {**TOKENS, **{node: (f"system:node:{node}", "system:nodes") for node in nodes}}
        self.tokens = {name: secrets.token_hex(16) for name in who}
        lines = [f'{self.tokens[name]},{user},{name},"{group}"\n' for name, (user, group) in who.items()]
        self._write("tokens.csv", "".join(lines))

    def certify(self, name: str, subject: str, names: str = "") -> None:
        """Make NAME.key and NAME.crt, signed by the cluster's authority."""
        self._key(name)
        alternatives = f"subjectAltName={names}\n" if names else ""
        self._write(f"{name}.ext", EXTENSIONS + alternatives)
        self._openssl("req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        # Serial numbers at random: two that sign at once share no counter.
        serial = f"0x{secrets.randbits(120) | 1 << 119:x}"
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-set_serial", serial),
            *("-days", "3650", "-out", f"{name}.crt", "-extfile", f"{name}.ext"),
        )

    def by_token(self, name: str, url: str, *, to: str = "") -> Path:
        """Write the kubeconfig of one who signs in by token."""
        ca = (self.etc / "ca.crt").read_bytes()
        return self._write(f"{to or name}.kubeconfig", kubeconfig(url, ca, token=self.tokens[name]))

    def by_certificate(self, user: str, groups: tuple[str, ...], url: str) -> Path:
        """Make a certificate for *user*, whoever that is, and write the kubeconfig that signs in with it."""
        name = f"user-{secrets.token_hex(4)}"
        self.certify(name, "".join(f"/O={group}" for group in groups) + f"/CN={user}")
        ca, certificate, key = ((self.etc / f).read_bytes() for f in ("ca.crt", f"{name}.crt", f"{name}.key"))
        return self._write(f"{name}.kubeconfig", kubeconfig(url, ca, certificate=certificate, key=key))

    def _key(self, name: str) -> None:
        # On an elliptic curve: made in a moment, where RSA takes its time.
        options = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        self._openssl("genpkey", *options, "-out", f"{name}.key")

    def _openssl(self, command: str, *options: str) -> None:
        self.daemons.command("sh", "-c", 'cd "$0" && umask 077 && exec openssl "$@"', str(self.etc), command, *options)

    def _write(self, name: str, content: str) -> Path:
        path = self.etc / name
        path.touch(0o600)
        path.write_text(content)
        return path
