"""
What people write, checked whole and turned into the nouns of `bascule.model`.

The models that people's files must fit are in ``job`` and ``target``, rules between
fields in ``rules``; ``loading`` reads files, ``showing`` writes them. Importing this
package imports pydantic, which takes its time: import it where it is used.
"""

from bascule.spec.face import Job
from bascule.spec.loading import job_from_document, load_file, load_text, target_from_document, validated
from bascule.spec.options import checked_options
from bascule.spec.overrides import parse_time, with_overrides
from bascule.spec.script_files import job_from_script, job_from_wrap
from bascule.spec.showing import to_document, to_yaml
from bascule.spec.sorting import is_script, load, load_any

__all__ = [
    "Job",
    "checked_options",
    "is_script",
    "job_from_document",
    "job_from_script",
    "job_from_wrap",
    "load",
    "load_any",
    "load_file",
    "load_text",
    "parse_time",
    "target_from_document",
    "to_document",
    "to_yaml",
    "validated",
    "with_overrides",
]
