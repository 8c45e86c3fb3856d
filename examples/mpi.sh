#!/bin/bash
# A parallel job as it is given to sbatch: `bascule run -t hpc examples/mpi.sh` runs it as it is.
#SBATCH --nodes=2
#SBATCH --ntasks=4
#SBATCH --time=10
#SBATCH --mem=500M

# Without Slurm around it, one task is all there is.
[ -n "$SLURM_JOB_ID" ] || srun() { SLURM_PROCID=0 SLURMD_NODENAME=$HOSTNAME "$@"; }

echo "job ${SLURM_JOB_NAME:-mpi} on ${SLURM_JOB_NODELIST:-$HOSTNAME}: ${SLURM_NTASKS:-1} tasks"
srun sh -c 'echo "task $SLURM_PROCID of ${SLURM_NTASKS:-1} on $SLURMD_NODENAME"'
