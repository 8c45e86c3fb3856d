#!/bin/sh
# Bascule on a cluster of two nodes, beside a real Slurm: installed by Helm, a job followed through the death of its
# node and of the operator, another one deleted; and what Slurm's records say of it. docs/guides/walkthrough.md.
#
#     python3 -m tests.testbed kube --image --slurm 26.05 sh deploy/walkthrough.sh
set -eu

say() { printf '\n== %s\n' "$*"; }
job() { # job NAME SCRIPT
    cat <<EOF
apiVersion: bascule.dev/v1alpha1
kind: BridgeJob
metadata: {name: $1, namespace: team-a}
spec:
  target: {name: hpc}
  run: {script: "#!/bin/sh\n$2\n"}
  workingDirectory: ${LAB_JOBS:-/tmp}
EOF
}

say "install by Helm"
helm install bascule deploy/chart --namespace bascule-system --create-namespace \
    --set image.repository="${LAB_IMAGE%:*}" --set image.tag="${LAB_IMAGE##*:}" --set image.pullPolicy=Never \
    --set agent.nodeLossSeconds=3 --set 'network.guarded={10.96.0.0/16,10.244.0.0/16}'
kubectl -n bascule-system rollout status deployment/bascule-operator --timeout=180s

say "a namespace, its manifest, its Secret, and a target"
kubectl create namespace team-a
${BASCULE:-bascule} agent --manifest -n team-a --secret hpc-token | kubectl apply -f -
kubectl -n team-a create secret generic hpc-token --from-literal=token="$LAB_TOKEN"
host=${LAB_URL#*://}
kubectl apply -f - <<EOF
apiVersion: bascule.dev/v1alpha1
kind: BridgeTarget
metadata: {name: hpc, namespace: team-a}
spec:
  manager: slurm
  url: $LAB_URL
  credentials: {user: $LAB_USER, secret: {name: hpc-token, from: JobNamespace}}
  network: {allow: ["${host%:*}/32"], plaintext: true}
  mirror: Isolated
EOF

say "two jobs, on node-2"
kubectl cordon node-1
job train 'sleep 60; exit 3' | kubectl apply -f -
job other 'sleep 600' | kubectl apply -f -
kubectl -n team-a wait --for=jsonpath='{.status.phase}'=Running bridgejob/train bridgejob/other --timeout=180s
kubectl uncordon node-1
kubectl -n team-a get bridgejobs,pods -o wide
key=$(kubectl -n team-a get bridgejob train -o jsonpath='{.status.key}')
other=$(kubectl -n team-a get bridgejob other -o jsonpath='{.status.key}')

say "the node dies, the operators are killed, the second job is deleted"
eval "$NODES kill node-2"
kubectl -n bascule-system delete pods --all --force --grace-period=0 --wait=false
kubectl -n team-a delete bridgejob other --wait=false

say "the first job goes on to its end, the second is cancelled"
kubectl -n team-a wait --for=condition=Failed bridgejob/train --timeout=300s
kubectl -n team-a get bridgejob train
kubectl -n team-a logs -f train-mirror || true
kubectl -n team-a wait --for=delete bridgejob/other --timeout=200s

say "Slurm's own records: one job each"
eval "$LAB scontrol -o show jobs" | grep -E "JobName=($key|$other) " | sed -E 's/.*(JobId=[^ ]+ JobName=[^ ]+).*(JobState=[^ ]+).*(ExitCode=[^ ]+).*/\1 \2 \3/'
