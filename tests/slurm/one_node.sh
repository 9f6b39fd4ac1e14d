#!/usr/bin/env bash
# A real SLURM of one node on this machine, for tests:
# one_node.sh prepare | start | stop FOLDER
#
# Needs root, and Debian or Ubuntu with apt-get or SLURM and MUNGE already there. State
# and logs lie in FOLDER; everything listens on 127.0.0.1 only. There is no database and
# no cgroup: memory is sampled each second, and a step above its limit is killed.
set -euo pipefail
command=${1:?prepare, start or stop} folder=$(realpath -m "${2:?folder}")
conf=/etc/slurm/slurm.conf
title="# leastaction tests: "
mark=$title$folder
socket=/run/munge/munge.socket.2
export PATH=$PATH:/usr/sbin:/sbin
unset SLURM_CONF

fail() {
  echo "one_node: $*" >&2
  tail -n 5 "$folder"/*.log >&2 2>/dev/null || true
  exit 1
}

# Wait at most $1 seconds for a command to succeed.
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.2
  done
}

munge_answers() { munge -n -S $socket | unmunge -S $socket; }
node_idle() { [[ $(timeout 10 sinfo --noheader --format=%T) == idle ]]; }
gone() { ! kill -0 "$1"; }

# Whether the process of a pid file is still the daemon that wrote it.
runs() {
  local pid
  pid=$(cat "$2" 2>/dev/null) || return 1
  [[ $(cat "/proc/$pid/comm" 2>/dev/null) == "$1" ]]
}

# Stop the daemon of a pid file.
end() {
  local pid
  runs "$1" "$2" || return 0
  pid=$(cat "$2")
  kill "$pid"
  wait_for 15 gone "$pid" || kill -9 "$pid"
}

install_packages() {
  for program in slurmctld slurmd sbatch munged; do
    command -v $program >/dev/null && continue
    command -v apt-get >/dev/null || fail "neither $program nor apt-get is here"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends \
      slurm-wlm munge; } >"$folder/apt.log" 2>&1 || fail "apt-get cannot install SLURM"
    return
  done
}

start_munge() {
  munge_answers >/dev/null 2>&1 && return
  if [[ ! -s /etc/munge/munge.key ]]; then
    install -d -o munge -g munge -m 0700 /etc/munge
    (umask 077 && head -c 1024 /dev/urandom >/etc/munge/munge.key)
    chown munge:munge /etc/munge/munge.key
  fi
  install -d -o munge -g munge -m 0755 /run/munge
  install -d -o munge -g munge -m 0700 /var/lib/munge /var/log/munge
  runuser -u munge -- munged --force >"$folder/munged.log" 2>&1 || true
  wait_for 15 munge_answers || fail "munged does not answer"
  cp /run/munge/munged.pid "$folder/munged.pid"
}

# A configuration of ours whose daemons are gone was left by tests that were killed.
refuse_other_cluster() {
  local first other
  [[ -e $conf ]] || return 0
  read -r first <$conf
  [[ $first == "$title"* ]] || fail "$conf is there: this is a cluster"
  other=${first#"$title"}
  [[ $other == "$folder" ]] || ! runs slurmctld "$other/slurmctld.pid" ||
    fail "other tests use SLURM; if they are gone: $0 stop $other"
}

write_configuration() {
  local host memory
  host=$(hostname -s)
  memory=$(awk '/^MemTotal:/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
  install -d /etc/slurm "$folder/state" "$folder/spool"
  cat >$conf <<END
$mark
ClusterName=leastaction
SlurmctldHost=$host(127.0.0.1)
# Bind to what the name of the host resolves to, not to all interfaces.
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
SlurmUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
MpiDefault=none
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=5
KillWait=2
JobRequeue=0
AccountingStorageType=accounting_storage/none
MinJobAge=86400
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(getconf _NPROCESSORS_ONLN) RealMemory=$memory State=UNKNOWN
EnforcePartLimits=ALL
PartitionName=tests Nodes=$host Default=YES MaxTime=INFINITE State=UP
PartitionName=closed Nodes=$host AllowAccounts=others State=UP
END
}

prepare() {
  [[ $EUID == 0 ]] || fail "SLURM must be started by root"
  mkdir -p "$folder"
  install_packages
}

start() {
  prepare
  refuse_other_cluster
  [[ $(getent ahostsv4 "$(hostname)") == 127.* ]] ||
    fail "the host name $(hostname) does not resolve to 127.0.0.1"
  [[ -n $(ls -A /sys/fs/cgroup 2>/dev/null) ]] || fail "slurmd needs /sys/fs/cgroup"
  write_configuration
  # Leave no half cluster behind: on one, jobs would wait for ever.
  trap 'code=$?; ((code == 0)) || stop; exit $code' EXIT
  start_munge
  slurmctld -c >"$folder/slurmctld.out" 2>&1 || fail "slurmctld does not start"
  slurmd -c >"$folder/slurmd.out" 2>&1 || fail "slurmd does not start"
  wait_for 30 node_idle || fail "the node does not become idle"
}

stop() {
  grep -qxF "$mark" $conf 2>/dev/null || return 0
  timeout 10 squeue --noheader --format=%A | xargs -r timeout 10 scancel || true
  end slurmd "$folder/slurmd.pid"
  end slurmctld "$folder/slurmctld.pid"
  end munged "$folder/munged.pid"
  rm -f $conf
}

"$command"
