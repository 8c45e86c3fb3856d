#!/bin/sh
# Bascule on a cluster of two nodes, beside a real Slurm: installed by Helm, a job followed through the death of its
# node and of the operator, another one deleted; and what Slurm's records say of it. docs/guides/walkthrough.md.
#
#     python3 -m tests.testbed kube --image --slurm 26.05 sh deploy/walkthrough.sh
#
# It ends with 0 only if all that it says is so.
set -eu

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'NOT SO: %s\n' "$*" >&2; exit 1; }
job() { # job NAME SCRIPT
    cat <<EOF
apiVersion: bascule.dev/v1alpha1
kind: BridgeJob
metadata: {name: $1, namespace: team-a}
spec:
  target: {name: hpc}
  run: {script: "#!/bin/sh\n$2\n"}
  workingDirectory: $LAB_JOBS
EOF
}
of() { kubectl -n team-a get "$1" "$2" --ignore-not-found -o jsonpath="{$3}"; } # of KIND NAME PATH
of_operator() { kubectl -n bascule-system get lease bascule-operator -o jsonpath="$1"; }
until_it_is() { # until_it_is WHAT SECONDS COMMAND...
    what=$1 left=$2
    shift 2
    until "$@"; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "$what"
        sleep 1
    done
}
records() { # what Slurm's accounting has of our jobs, each run of each
    eval "$LAB sacct -a -X -D -n -P -S '$began' -o JobID,JobName,State,ExitCode,Start,End" | grep -E '^[0-9]+\|(train|other)-' || true
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"; kill ${follower:-} 2>/dev/null || true' EXIT
began=$(eval "$LAB date +%Y-%m-%dT%H:%M:%S")

say "install by Helm"
helm install bascule deploy/chart --namespace bascule-system --create-namespace \
    --set image.repository="${LAB_IMAGE%:*}" --set image.tag="${LAB_IMAGE##*:}" --set image.pullPolicy=Never \
    --set agent.nodeLossSeconds=3 --set 'network.guarded={10.96.0.0/16,10.244.0.0/16}'
kubectl -n bascule-system rollout status deployment/bascule-operator --timeout=180s

say "a namespace, its rights as the command prints them, its Secret"
kubectl create namespace team-a
kubectl label namespace team-a pod-security.kubernetes.io/enforce=restricted
# The command is in the image: nobody needs to install it.
kubectl run bascule -q --rm -i --restart=Never --image="$LAB_IMAGE" --image-pull-policy=Never -- \
    agent --manifest -n team-a --secret hpc-token >"$scratch/manifest.yaml" </dev/null
kubectl apply -f "$scratch/manifest.yaml"
kubectl -n team-a create secret generic hpc-token --from-literal=token="$LAB_TOKEN"

say "Slurm's file system as a volume, and a target that names it"
host=${LAB_URL#*://}
kubectl apply -f - <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: scratch}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  hostPath: {path: "$LAB_JOBS", type: Directory}
  claimRef: {name: scratch, namespace: team-a}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: scratch, namespace: team-a}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: ""
  volumeName: scratch
  resources: {requests: {storage: 1Gi}}
---
apiVersion: bascule.dev/v1alpha1
kind: BridgeTarget
metadata: {name: hpc, namespace: team-a}
spec:
  manager: slurm
  url: $LAB_URL
  credentials: {user: $LAB_USER, secret: {name: hpc-token, from: JobNamespace}}
  network: {allow: ["${host%:*}/32"], plaintext: true}
  files: {root: "$LAB_JOBS", claim: scratch}
  mirror: Isolated
EOF

say "two jobs; node-1 takes no pods yet, so theirs are on node-2"
kubectl cordon node-1
job train 'for step in $(seq 30); do echo step $step; sleep 2; done; exit 3' | kubectl apply -f -
job other 'sleep 600' | kubectl apply -f -
kubectl -n team-a wait --for=jsonpath='{.status.phase}'=Running bridgejob/train bridgejob/other --timeout=180s
kubectl uncordon node-1
kubectl -n team-a get bridgejobs
kubectl -n team-a get pods -o wide
first=$(of pod train-mirror .metadata.uid)
[ "$(of pod train-mirror .spec.nodeName)" = node-2 ] || fail "the pod of train is on node-2"

say "kubectl logs -f shows Slurm's output while it is written"
kubectl -n team-a logs -f train-mirror &
follower=$!
until_it_is "a line was seen" 60 sh -c 'kubectl -n team-a logs train-mirror | grep -q "step 3"'
[ "$(of bridgejob train .status.phase)" = Running ] || fail "train still runs"

say "node-2 dies, the operators are killed, the second job is deleted"
led=$(of_operator '{.spec.holderIdentity}')
eval "$NODES kill node-2"
kubectl -n bascule-system delete pods --all --force --grace-period=0 --wait=false
kubectl -n team-a delete bridgejob other --wait=false
kill $follower 2>/dev/null || true

say "the first job's pod comes again, on node-1; its log is the job's from the first line on"
replaced() { now=$(of pod train-mirror .metadata.uid) && [ -n "$now" ] && [ "$now" != "$first" ]; }
until_it_is "another pod" 200 replaced
kubectl -n team-a wait --for=jsonpath='{.status.phase}'=Running pod/train-mirror --timeout=120s ||
    [ -n "$(of pod train-mirror .status.containerStatuses[0].state.terminated.exitCode)" ]
kubectl get nodes
kubectl -n team-a get pods -o wide
kubectl -n team-a logs -f train-mirror | tee "$scratch/log"
seq 30 | sed 's/^/step /' | cmp -s - "$scratch/log" || fail "each of the 30 lines was there, once and in order"

say "its end is the job's: exit code 3, of the object and of the pod"
kubectl -n team-a wait --for=condition=Failed bridgejob/train --timeout=120s
kubectl -n team-a get bridgejob train
[ "$(of bridgejob train .status.exitCode)" = 3 ] || fail "the job ended with 3"
ended() { [ "$(of pod train-mirror .status.containerStatuses[0].state.terminated.exitCode)" = 3 ]; }
until_it_is "the pod ended with 3" 60 ended
kubectl -n team-a describe bridgejob train | sed -n '/^Events:/,$p'

say "the second job's object is gone: Slurm has confirmed that it is cancelled"
kubectl -n team-a wait --for=delete bridgejob/other --timeout=200s

say "another operator leads"
printf 'before: %s\nnow:    %s\n' "$led" "$(of_operator '{.spec.holderIdentity}')"
[ "$led" != "$(of_operator '{.spec.holderIdentity}')" ] || fail "another leads"

say "Slurm's own accounting: two jobs were ever submitted, and each ran once"
echo 'JobID|JobName|State|ExitCode|Start|End'
records
[ "$(records | wc -l)" = 2 ] || fail "there are two records"
records | grep -qE '\|train-[^|]*\|FAILED\|3:0\|' || fail "train failed with 3"
records | grep -qE '\|other-[^|]*\|CANCELLED[^|]*\|' || fail "other was cancelled"
