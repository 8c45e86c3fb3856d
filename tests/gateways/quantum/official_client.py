"""
The official client, unmodified, against a gateway: what it saw goes to stdout as JSON.

    official_client.py URL KEY INSTANCE

Run by the environment of ``requirements/quantum.txt``, in which Bascule itself is not needed.
"""

import json
import os
import sys
import warnings

URL, KEY, INSTANCE = sys.argv[1:]
os.environ.update(IAM_URL=URL, GLOBAL_SEARCH_URL=f"{URL}/search", GLOBAL_CATALOG_URL=f"{URL}/catalog/api/v1")
warnings.simplefilter("ignore")

from qiskit import QuantumCircuit
from qiskit.circuit import Parameter
from qiskit.quantum_info import SparsePauliOp
from qiskit.transpiler.preset_passmanagers import generate_preset_pass_manager
from qiskit_ibm_runtime import EstimatorV2, QiskitRuntimeService, SamplerV2, Session
from qiskit_ibm_runtime.executor_sampler import Sampler as ExecutorSampler

saw = {}
service = QiskitRuntimeService(
    # An address with that word in it is left as it is.
    url=f"{URL}/experimental/api/v1",
    channel="ibm_quantum_platform",
    token=KEY,
    instance=INSTANCE,
)
saw["backends"] = sorted(backend.name for backend in service.backends())
saw["least busy"] = service.least_busy(simulator=False).name
line = service.backend("line5")
saw["status"] = line.status().status_msg
aimed = generate_preset_pass_manager(backend=line, optimization_level=1, seed_transpiler=1)

bell = QuantumCircuit(2)
bell.h(0)
bell.cx(0, 1)
state = aimed.run(bell)
observable = SparsePauliOp(["ZZ", "XX", "ZI"]).apply_layout(state.layout)
bell.measure_all()
isa = aimed.run(bell)

sampler = SamplerV2(mode=line)
sampler.options.environment.job_tags = ["bell"]
job = sampler.run([isa], shots=1000)
saw["counts"] = job.result(timeout=60)[0].data.meas.get_counts()
saw["sampled"] = [job.status(), job.tags, job.usage() >= 0, job.job_id() in [one.job_id() for one in service.jobs()]]
saw["inputs"] = list(service.job(job.job_id()).inputs)

theta = Parameter("theta")
turn = QuantumCircuit(1)
turn.rx(theta, 0)
turn.measure_all()
turned = SamplerV2(mode=service.backend("aer")).run([(turn, [0.0, 3.14159265])], shots=64).result(timeout=60)
saw["turned"] = [turned[0].data.meas.get_counts(0), turned[0].data.meas.get_counts(1)]

estimated = EstimatorV2(mode=line).run([(state, observable)], precision=0.02).result(timeout=60)
saw["expectation"] = [float(estimated[0].data.evs), float(estimated[0].data.stds)]

with Session(backend=line) as session:
    within = SamplerV2(mode=session).run([isa], shots=16)
    within.result(timeout=60)
    saw["session"] = [session.details()["state"], within.session_id == session.session_id]
saw["session afterwards"] = [session.details()["state"], session.details()["accepting_jobs"]]
try:
    SamplerV2(mode=Session.from_id(session.session_id, service)).run([isa], shots=16)
except Exception as error:
    saw["closed session"] = str(error)

executed = ExecutorSampler(mode=line)
executed.options.twirling.enable_gates = False
executed.options.twirling.enable_measure = False
saw["executor"] = executed.run([isa], shots=200).result(timeout=60)[0].data.meas.get_counts()

long = QuantumCircuit(18)
for _ in range(40):
    for qubit in range(17):
        long.rx(0.3, qubit)
        long.cx(qubit, qubit + 1)
long.measure_all()
running = SamplerV2(mode=service.backend("aer")).run([(long, []) for _ in range(40)], shots=50_000)
running.cancel()
saw["cancelled"] = service.job(running.job_id()).status()
try:
    job.cancel()
except Exception as error:
    saw["cancelled too late"] = type(error).__name__
try:
    service.job("nobody")
except Exception as error:
    saw["unknown"] = type(error).__name__

brief = SamplerV2(mode=service.backend("aer"))
brief.options.max_execution_time = 1
try:
    brief.run([(long, []) for _ in range(40)], shots=50_000).result(timeout=60)
except Exception as error:
    saw["ran too long"] = type(error).__name__
service.delete_job(job.job_id())
saw["deleted"] = job.job_id() not in [one.job_id() for one in service.jobs()]
print(json.dumps(saw))
