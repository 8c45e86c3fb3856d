"""Helm renders a chart, installs it, and takes it away again."""

import subprocess

import pytest

pytestmark = [pytest.mark.real, pytest.mark.root]

CHART = "apiVersion: v2\nname: lab\nversion: 0.1.0\n"
TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {word: {{ .Values.word | quote }}}
"""
SCHEMA = '{"properties": {"word": {"type": "string"}}}'


@pytest.fixture
def chart(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text(CHART)
    (tmp_path / "values.yaml").write_text("word: hello\n")
    (tmp_path / "values.schema.json").write_text(SCHEMA)
    (tmp_path / "templates/map.yaml").write_text(TEMPLATE)
    return tmp_path


@pytest.fixture
def run(helm, control_plane):
    def run(*argv: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [helm, *argv], env=control_plane.environment(), capture_output=True, text=True, timeout=60
        )

    return run


def test_a_chart_is_installed_and_removed(run, chart, control_plane, namespace):
    installed = run("install", "lab", str(chart), "--namespace", namespace, "--create-namespace", "--set", "word=other")
    path = f"/api/v1/namespaces/{namespace}/configmaps/lab"

    assert 0 == installed.returncode, installed.stderr
    assert {"word": "other"} == control_plane.rest.get(path)["data"]
    assert 0 == run("uninstall", "lab", "--namespace", namespace).returncode
    assert control_plane.rest.get(path) is None


def test_values_that_the_schema_forbids_are_refused(run, chart):
    refused = run("template", "lab", str(chart), "--set", "word=5")

    assert 0 != refused.returncode
    assert "word" in refused.stderr
