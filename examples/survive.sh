#!/bin/sh
# Submit 50 jobs, kill every process of Bascule without warning, and see that each job ran once and ended right.
# It makes a home of its own, so that no other process is killed, and removes it at the end.
set -eu

count=50
folder=$(mktemp -d)
BASCULE_HOME=$folder/home
export BASCULE_HOME
ran=$folder/ran # each job appends one line
touch "$ran"

names=
for number in $(seq "$count"); do
    names="$names survive-$number"
    cat <<JOB
---
apiVersion: bascule.dev/v1alpha1
kind: BridgeJob
metadata: {name: survive-$number}
spec:
  target: {name: local}
  run:
    script: |
      #!/bin/sh
      echo $number >> $ran
      sleep 0.3
  workingDirectory: $folder
  resources: {walltime: 5m}
JOB
done >"$folder/jobs.yaml"

bascule submit "$folder/jobs.yaml" >"$folder/submitted"
echo "submitted $(wc -l <"$folder/submitted") jobs"

# The jobs and their wrappers are programs of `sh`; what runs in Python on this home is Bascule.
killed=0
for process in /proc/[0-9]*; do
    if tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qxF "BASCULE_HOME=$BASCULE_HOME" &&
        readlink "$process/exe" | grep -q python; then
        kill -KILL "${process#/proc/}" && killed=$((killed + 1))
    fi
done
processes=processes
[ "$killed" -ne 1 ] || processes=process
echo "killed $killed $processes of Bascule after $(wc -l <"$ran") jobs had started"

# shellcheck disable=SC2086 # one word per name
bascule wait $names >"$folder/waited"
lines=$(wc -l <"$ran")
different=$(sort -u "$ran" | wc -l)
rm -rf "$folder"
echo "$lines runs of $different jobs"
[ "$lines" -eq "$count" ] && [ "$different" -eq "$count" ]
